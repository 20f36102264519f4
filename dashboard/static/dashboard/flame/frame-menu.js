// The menu of a bar: by right click, long press, Shift+F10 or the menu key. Arrow keys move, Escape closes.
import { ALL } from "./tree.js";
import { make } from "./dom.js";
import { addressOf, nameOf, visible } from "./words.js";

const EDGE_PX = 8; // to the edges of the window

// Shows a menu at a point of the window. `items`: {word, key, act, href, isChecked}. `back` gets the focus at its end.
export function openMenu({ label, items, x, y, back }) {
  document.querySelector(".frame-menu")?.close();
  const menu = make("div", { className: "frame-menu", role: "menu", ariaLabel: label });
  const stopping = new AbortController();
  const close = (isBack = true) => {
    stopping.abort();
    menu.remove();
    if (isBack) back.focus({ preventScroll: true });
  };
  menu.close = close;
  menu.append(...items.map(({ word, key, act, href, isChecked }) => {
    const role = isChecked === undefined ? "menuitem" : "menuitemcheckbox";
    const item = make(href ? "a" : "button", { role, tabIndex: -1, ...(href ? { href } : { type: "button" }) }, word,
      key ? make("kbd", { ariaHidden: "true" }, key) : null);
    if (isChecked !== undefined) item.setAttribute("aria-checked", isChecked);
    item.addEventListener("click", () => {
      close(!href);
      act?.();
    });
    return item;
  }));
  back.closest("main").append(menu); // in a landmark
  place(menu, x, y);
  const options = { signal: stopping.signal };
  menu.addEventListener("keydown", (event) => onKey(event, menu, close), options);
  menu.addEventListener("contextmenu", (event) => event.preventDefault(), options);
  document.addEventListener("pointerdown", (event) => { if (!menu.contains(event.target)) close(false); }, { ...options, capture: true });
  // A finger that scrolls begins with a press beside the menu. The page may also scroll by itself, which closes nothing.
  for (const name of ["wheel", "resize", "blur"]) addEventListener(name, () => close(false), { ...options, passive: true });
  menu.firstElementChild.focus({ preventScroll: true });
}

function place(menu, x, y) {
  const { width, height } = menu.getBoundingClientRect();
  menu.style.left = `${Math.max(EDGE_PX, Math.min(x, innerWidth - width - EDGE_PX))}px`;
  menu.style.top = `${Math.max(EDGE_PX, Math.min(y, innerHeight - height - EDGE_PX))}px`;
}

function onKey(event, menu, close) {
  const items = [...menu.children];
  const at = items.indexOf(document.activeElement);
  const go = (index) => items[(index + items.length) % items.length].focus();
  const act = {
    ArrowDown: () => go(at + 1),
    ArrowUp: () => go(at < 0 ? -1 : at - 1),
    Home: () => go(0),
    End: () => go(-1),
    Escape: () => close(),
    Tab: () => close(),
    " ": () => items[at]?.click(),
  }[event.key];
  event.stopPropagation(); // the page has keys of its own
  if (!act) return;
  event.preventDefault();
  act();
}

// The stack of a node as text, from the function that ran to the first caller.
export function stackText(tree, node) {
  const lines = [];
  for (let at = node; at !== ALL; at = tree.prefix[at]) {
    const func = tree.funcs[tree.func[at]];
    const { line, column } = func.original ?? func;
    const address = addressOf(func);
    lines.push(address === null ? nameOf(func) : `${nameOf(func)} (${visible([address, line, column].filter((part) => part !== null).join(":"))})`);
  }
  return (tree.isTurned ? lines.reverse() : lines).join("\n");
}

// Copies a text, and returns whether it could. Without access to the clipboard (plain http), the old way may work.
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = make("textarea", { value: text, className: "unseen" });
    document.body.append(field);
    field.select();
    const isCopied = document.execCommand("copy");
    field.remove();
    return isCopied;
  }
}
