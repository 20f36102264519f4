// The command palette: Ctrl K, or the button in the top bar, which without this script is a link to the search page. The
// server finds; this script asks it while somebody types, and moves the selection.
const FIND_AFTER_MS = 150; // between two keys of somebody who types
const SAY_AFTER_MS = 300; // quicker answers need no word
const dialog = document.getElementById("palette");
const find = document.getElementById("palette-find");
const list = document.getElementById("palette-list");
const said = document.getElementById("palette-said");
const button = document.getElementById("search-button");

// What an entry does instead of leading somewhere; one that is not possible here is null, and not shown.
const acts = {
  "open-profile": () => clickable("#open-profile"),
  "copy-page": () => navigator.clipboard && (() => navigator.clipboard.writeText(location.href)),
  "save-view": () => {
    const menu = document.getElementById("saved-views");
    return menu && (() => setTimeout(() => { // after this click, which would close it as one beside it
      menu.open = true;
      menu.querySelector("input[name=name]").focus();
    }));
  },
  "show-keys": () => () => document.dispatchEvent(new CustomEvent("show-keys")),
};

let asked = null; // the request that is on its way
let timer = 0;
let shownFor = null; // the text whose results are in the list
let opensFirst = false; // Enter was pressed before the results came
let ways = ""; // the results without a text, which come at once the next time

function clickable(selector) {
  const element = document.querySelector(selector);
  return element && !element.hidden && !element.disabled ? () => element.click() : null;
}

export function openPalette() {
  if (dialog.open) return;
  for (const other of document.querySelectorAll("dialog[open]")) other.close();
  dialog.showModal();
  find.value = "";
  if (ways) show(ways, "");
  else search(0);
}

// Asks after a delay, and no longer for an older text; without a delay, only the latter.
function search(delay) {
  clearTimeout(timer);
  asked?.abort();
  opensFirst = false;
  if (delay !== null) timer = setTimeout(ask, delay);
}

async function ask() {
  const text = find.value.trim();
  asked = new AbortController();
  const { signal } = asked;
  const saying = setTimeout(() => say("Searching…"), SAY_AFTER_MS);
  signal.addEventListener("abort", () => clearTimeout(saying));
  const params = new URLSearchParams(location.search);
  params.set("find", text);
  try {
    const answer = await fetch(`${dialog.dataset.resultsUrl}?${params}`, {
      signal,
      credentials: "same-origin",
      headers: { "HX-Request": "true", "HX-Current-URL": location.href },
    });
    const login = answer.headers.get("HX-Redirect");
    if (login) return location.assign(login);
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    const results = await answer.text();
    if (signal.aborted) return;
    if (!text) ways = results;
    show(results, text);
  } catch (error) {
    if (signal.aborted) return;
    console.error(error);
    list.replaceChildren();
    shownFor = null;
    choose(null);
    say("The search failed. Type again to repeat it.");
  } finally {
    clearTimeout(saying);
  }
}

function show(results, text) {
  list.innerHTML = results; // the server's own template, which escapes names
  for (const option of list.querySelectorAll("[data-act]")) if (!acts[option.dataset.act]?.()) option.remove();
  for (const group of list.querySelectorAll(".found")) if (!group.querySelector("[role=option]")) group.remove();
  const found = options();
  list.scrollTop = 0;
  shownFor = text;
  // The table of functions can always be searched: it is no result.
  const count = found.filter((option) => !option.closest("[aria-labelledby=found-more]")).length;
  say(count ? "" : `Nothing found for “${text}”.`);
  list.setAttribute("aria-label", count ? `${count} results` : "Results");
  choose(found[0] ?? null);
  if (opensFirst && found.length) open(found[0]);
}

const options = () => [...list.querySelectorAll("[role=option]")];
const chosen = () => list.querySelector("[aria-selected=true]");

function choose(option) {
  chosen()?.setAttribute("aria-selected", "false");
  if (!option) return find.removeAttribute("aria-activedescendant");
  option.setAttribute("aria-selected", "true");
  find.setAttribute("aria-activedescendant", option.id);
  option.scrollIntoView({ block: "nearest" });
}

function move(step) {
  const found = options();
  if (!found.length) return;
  const at = found.indexOf(chosen());
  choose(found[(at + step + found.length) % found.length]);
}

// Follows an entry as a click with the same keys would: with Ctrl or Cmd in a new tab.
function open(option, { ctrlKey = false, metaKey = false } = {}) {
  option.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey }));
}

function say(words) {
  said.textContent = words;
}

list.addEventListener("click", (event) => {
  const option = event.target.closest("[role=option]");
  if (!option) return;
  if (option.dataset.act) event.preventDefault();
  if (!event.ctrlKey && !event.metaKey && !event.shiftKey) dialog.close();
  acts[option.dataset.act]?.()();
});
list.addEventListener("pointermove", (event) => {
  const option = event.target.closest("[role=option]");
  if (option && option !== chosen()) choose(option);
});
list.addEventListener("pointerdown", (event) => event.preventDefault()); // the field keeps the focus
find.addEventListener("input", () => search(FIND_AFTER_MS));
find.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "ArrowDown") move(1);
  else if (event.key === "ArrowUp") move(-1);
  else if (event.key === "?" && !find.value) {
    dialog.close();
    document.dispatchEvent(new CustomEvent("show-keys"));
  } else if (event.key === "Enter") {
    if (shownFor !== find.value.trim()) opensFirst = true;
    else if (chosen()) open(chosen(), event);
  } else return;
  event.preventDefault();
});
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); }); // beside it
dialog.addEventListener("close", () => {
  if (!dialog.open) search(null); // it may have been opened again since
});
document.getElementById("palette-close").addEventListener("click", () => dialog.close());
window.addEventListener("pagehide", () => dialog.close()); // "back" shows the page, not the search

if (button) {
  button.setAttribute("role", "button");
  button.setAttribute("aria-haspopup", "dialog");
  button.setAttribute("aria-keyshortcuts", "Control+K Meta+K");
  button.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    openPalette();
  });
  button.addEventListener("keydown", (event) => { if (event.key === " ") { event.preventDefault(); openPalette(); } });
}
const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
for (const key of document.querySelectorAll("[data-key-of]")) {
  if (isMac) key.textContent = key.textContent.replace("Ctrl", "⌘");
  key.hidden = false;
}
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  event.preventDefault();
  if (dialog.open) dialog.close();
  else openPalette();
});
