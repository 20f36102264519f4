// Copies a text: the button in frame/_copy.html. Without access to the clipboard (plain http, except on this computer), it
// selects the text, so that the user can copy it.
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
