// A page without a browser, for the scripts of the pages: its elements, an address with a history, answers to fetches, a
// clipboard; and what a person does: clicks, keys, texts.
import { registerHooks } from "node:module";

import { Element, fire, Target } from "./elements.mjs";

export { fire };

// Presses keys, one after the other, where the focus is then. `Shift+F10` is one with a modifier.
export function press(...keys) {
  return keys.map((each) => {
    const [key, ...held] = each === "+" ? ["+"] : each.split("+").reverse();
    const modifiers = Object.fromEntries(["ctrl", "shift", "alt", "meta"].map((name) => [`${name}Key`, held.includes(name[0].toUpperCase() + name.slice(1))]));
    return fire(document.activeElement, "keydown", { key, ...modifiers });
  }).at(-1);
}

// Types a text into a field, which is told of it once.
export function type(field, text) {
  field.value = text;
  return fire(field, "input");
}

// Lets everything run that waits for answers or frames, but for no clock.
export async function settle() {
  for (let n = 0; n < 20; n++) await new Promise((resolve) => { setImmediate(resolve); });
}

// Makes a page of `html` at an address, and puts it where scripts look for theirs. Returns what fetches were asked:
// `answers` has a function or an answer by the beginning of an address.
export function openPage(html, { address = "https://fieldflame.example/projects/shop/", answers = {} } = {}) {
  const asked = [];
  globalThis.window = globalThis;
  window.events = new Target();
  window.addEventListener = (...words) => window.events.addEventListener(...words);
  window.removeEventListener = (...words) => window.events.removeEventListener(...words);
  const root = new Element("html");
  globalThis.document = Object.assign(new Element("document"), { documentElement: root, hidden: false });
  document.body = new Element("body");
  document.activeElement = document.body;
  document.createElement = (tag) => new Element(tag);
  document.getElementById = (id) => root.querySelector(`#${id}`);
  document.querySelector = (selector) => root.querySelector(selector);
  document.querySelectorAll = (selector) => root.querySelectorAll(selector);
  root.append(document.body);
  document.body.innerHTML = html;
  visit(address);
  Object.assign(globalThis, {
    innerWidth: 1200,
    innerHeight: 900,
    matchMedia: (query) => ({ matches: query.includes("reduced-motion"), addEventListener() {}, removeEventListener() {} }),
    getComputedStyle: () => ({ getPropertyValue: (name) => name }),
    requestAnimationFrame: (draw) => setImmediate(() => draw(performance.now())),
    cancelAnimationFrame: clearImmediate,
    ResizeObserver: class { observe() {} disconnect() {} },
    getSelection: () => ({ toString: () => "", selectAllChildren: (node) => { document.selection = node.textContent; } }),
    FormData: FormFields,
    CSS: { escape: (text) => text },
    fetch: async (url, options = {}) => {
      asked.push({ url: String(url), ...options });
      const found = Object.entries(answers).find(([start]) => String(url).startsWith(start))?.[1];
      const answer = typeof found === "function" ? await found(String(url), options) : found;
      if (answer instanceof Error || answer === undefined) throw answer ?? new Error(`nothing answers ${url}`);
      return answer instanceof Response ? answer : Response.json(answer);
    },
  });
  return { asked };
}

const nodeFormData = FormData;
class FormFields extends nodeFormData {
  constructor(form) {
    super();
    for (const field of form?.querySelectorAll("[name]") ?? []) {
      if (!field.disabled && (field.type !== "checkbox" || field.checked)) this.append(field.name, field.value);
    }
  }
}

// Puts an address into `location`, with a history of its own.
function visit(address) {
  const steps = [{ state: null, url: new URL(address) }];
  let at = 0;
  const go = (step) => {
    at = Math.min(Math.max(at + step, 0), steps.length - 1);
    fire(window, "popstate", { state: steps[at].state });
  };
  const put = (state, url) => ({ state, url: new URL(url, steps[at].url) });
  globalThis.location = {
    get href() { return steps[at].url.href; },
    get search() { return steps[at].url.search; },
    get pathname() { return steps[at].url.pathname; },
    assign(url) { document.gone = String(url); },
    reload() { document.gone = steps[at].url.href; },
  };
  globalThis.history = {
    get state() { return steps[at].state; },
    pushState: (state, _, url) => { steps.splice(at + 1, Infinity, put(state, url)); at += 1; },
    replaceState: (state, _, url) => { steps[at] = put(state, url); },
    back: () => go(-1),
    forward: () => go(1),
  };
}

// Gives the page a clipboard, or none; returns what is copied.
export function giveClipboard(isThere = true) {
  const copied = [];
  const write = async (items) => { copied.push(await (await items[0].content["text/plain"]).text()); };
  const clipboard = isThere ? { write, writeText: async (text) => { copied.push(text); } } : undefined;
  globalThis.ClipboardItem = class { constructor(content) { this.content = content; } };
  Object.defineProperty(globalThis, "navigator", { value: { clipboard, platform: "Linux" }, configurable: true });
  return copied;
}

const STATIC = new URL("../../../dashboard/static/dashboard/", import.meta.url);
let loaded = 0;
// Pages load all of them as modules. Node would take those without an import or export for CommonJS, and run them once.
registerHooks({ load: (url, context, next) => next(url, url.startsWith(STATIC.href) ? { ...context, format: "module" } : context) });

// Imports a script of the pages by its path.
export const load = (path) => import(new URL(path, STATIC));

// Runs a script of the pages once more, for another page. What it imports is not run again.
export const run = (path) => import(new URL(`${path}?${(loaded += 1)}`, STATIC));
