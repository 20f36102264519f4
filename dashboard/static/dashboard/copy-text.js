// Copies texts: the button in settings/_copy.html. Where the browser keeps the clipboard to itself (plain http, but for this
// computer's own addresses), it selects the text, for the person's own key.
const SAID_MS = 2_000;

for (const button of document.querySelectorAll("button.copy")) {
  const code = button.parentElement.querySelector("code");
  button.hidden = false;
  button.addEventListener("click", async () => {
    button.textContent = (await copy(code)) ? "Copied" : "Selected: Ctrl+C";
    setTimeout(() => { button.textContent = "Copy"; }, SAID_MS);
  });
}

async function copy(code) {
  try {
    await navigator.clipboard.writeText(code.textContent);
    return true;
  } catch {
    getSelection().selectAllChildren(code);
    return false;
  }
}
