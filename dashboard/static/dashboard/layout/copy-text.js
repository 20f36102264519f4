// Copies a text: the button in layout/_copy.html, also in parts that are fetched later. Without access to the clipboard
// (plain http, except on this computer), it selects the text, so that the user can copy it.
const SAID_MS = 2_000;

function reveal() {
  for (const button of document.querySelectorAll("button.copy[hidden]")) button.hidden = false;
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

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  button.textContent = (await copy(button.parentElement.querySelector("code"))) ? "Copied" : "Selected: Ctrl+C";
  setTimeout(() => { button.textContent = "Copy"; }, SAID_MS);
});
document.addEventListener("htmx:afterSwap", reveal);
reveal();
