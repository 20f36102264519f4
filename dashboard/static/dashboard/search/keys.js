// Keys of every page: `/` searches, `?` shows the keys, `g` and a letter go to a page. Never while somebody types, and not
// at all if they have turned off keys without Ctrl, as speech input may need it.
import { openPalette } from "./palette.js";

const GO_MS = 1_500; // between `g` and its letter
const OFF = "fieldflame-no-single-keys";
const dialog = document.getElementById("keys");
const box = document.getElementById("single-keys");
const isTyped = (node) => node.matches("input:not([type=checkbox], [type=radio], [type=button], [type=submit]), select, textarea, [contenteditable]");
const isSeen = (node) => node.checkVisibility?.() ?? node.offsetParent !== null;
let goUntil = 0; // when `g` was pressed, plus the time for its letter: by the keys' own time, for a busy page is late

box.checked = read() === null;
box.addEventListener("change", () => {
  try {
    if (box.checked) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "1");
  } catch { /* it holds for this page then */ }
});

function read() {
  try { return localStorage.getItem(OFF); } catch { return null; }
}

// The page's own search; without one, the palette.
function startSearch() {
  const field = [...document.querySelectorAll("main input[type=search]:not(.narrow-choices)")].find(isSeen);
  if (!field) return openPalette();
  field.focus();
  field.select();
}

function showKeys() {
  if (!dialog.open) dialog.showModal();
}

// While capturing, so that the second key of `g s` is not also one of the flame graph's.
document.addEventListener("keydown", (event) => {
  if (!box.checked || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  if (isTyped(event.target) || event.target.closest("[role=menu]") || document.querySelector("dialog[open]")) return;
  const isSecond = event.timeStamp < goUntil;
  goUntil = 0;
  const way = isSecond && /^[a-z]$/.test(event.key) && document.querySelector(`a[data-go="${event.key}"]`);
  if (way) way.click();
  else if (event.key === "/") startSearch();
  else if (event.key === "?") showKeys();
  else {
    if (event.key === "g") goUntil = event.timeStamp + GO_MS;
    return;
  }
  event.preventDefault();
  event.stopPropagation();
}, { capture: true });
document.addEventListener("show-keys", showKeys);
document.getElementById("keys-close").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
window.addEventListener("pagehide", () => dialog.close());
