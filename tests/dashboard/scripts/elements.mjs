// Elements without a browser, as far as the pages' scripts ask for them: made from HTML, found by selectors, with events
// that bubble and a focus. They are not laid out, and a canvas draws nothing: what needs that is tested in a browser.
const VOID = ["input", "br", "col", "link", "meta"];
const FOCUSABLE = "a, button, input, select, textarea, summary, canvas, [tabindex]";
// Properties that are attributes, by kind; where its name is another one, with that.
const TEXTS = {
  ...Object.fromEntries(["id", "name", "type", "value", "href", "title", "action", "role", "scope"].map((name) => [name, name])),
  className: "class", ariaLabel: "aria-label", ariaHidden: "aria-hidden", ariaRoleDescription: "aria-roledescription", dateTime: "datetime",
};
const FLAGS = ["hidden", "disabled", "checked", "open", "selected"];
const NUMBERS = { tabIndex: "tabindex", maxLength: "maxlength", colSpan: "colspan" };
const toKebab = (name) => `data-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

export class Target {
  #heard = [];

  addEventListener(type, hear, options = {}) {
    const { capture = options === true, once = false, signal } = options;
    this.#heard.push({ type, hear, capture, once, signal });
  }

  removeEventListener(type, hear) {
    this.#heard = this.#heard.filter((each) => each.type !== type || each.hear !== hear);
  }

  hear(event, isCapturing) {
    event.currentTarget = this;
    if (!isCapturing) this[`on${event.type}`]?.(event);
    for (const each of [...this.#heard]) {
      if (each.type !== event.type || each.capture !== isCapturing || each.signal?.aborted || event.isOver) continue;
      if (each.once) this.#heard.splice(this.#heard.indexOf(each), 1);
      each.hear(event);
    }
  }

  dispatchEvent(event) {
    const path = event.bubbles === false ? [this] : pathOf(this);
    Object.defineProperties(event, {
      target: { value: this, configurable: true },
      currentTarget: { value: this, writable: true, configurable: true },
      defaultPrevented: { value: false, writable: true, configurable: true },
      preventDefault: { value: () => { event.defaultPrevented = true; }, configurable: true },
      stopPropagation: { value: () => { event.isOver = true; }, configurable: true },
      composedPath: { value: () => path, configurable: true },
    });
    for (const target of [...path].reverse()) target.hear(event, true);
    for (const target of path) target.hear(event, false);
    return !event.defaultPrevented;
  }
}

function pathOf(target) {
  const path = [];
  for (let at = target; at; at = at.parentElement) path.push(at);
  if (path.at(-1) === document.documentElement) path.push(document);
  if (target !== window.events) path.push(window.events);
  return path;
}

// Has an element, the document or the window hear of something, and returns the event.
export function fire(target, type, { bubbles = true, ...fields } = {}) {
  const event = new Event(type, { bubbles });
  for (const [name, value] of Object.entries(fields)) Object.defineProperty(event, name, { value, configurable: true, writable: true });
  (target === window ? window.events : target).dispatchEvent(event);
  return event;
}

export class Element extends Target {
  attributes = new Map();
  childNodes = [];
  parentElement = null;
  style = {};
  scrollTop = 0;
  clientWidth = 1000;
  clientHeight = 400;
  dataset = new Proxy(this.attributes, {
    get: (attributes, name) => attributes.get(toKebab(name)),
    has: (attributes, name) => attributes.has(toKebab(name)),
    set: (attributes, name, value) => Boolean(attributes.set(toKebab(name), String(value))),
    deleteProperty: (attributes, name) => attributes.delete(toKebab(name)) || true,
  });

  constructor(tag) {
    super();
    this.tagName = tag.toUpperCase();
    if (tag === "template") this.content = new Element("fragment");
  }

  setAttribute(name, value) { this.attributes.set(name, String(value)); }
  getAttribute(name) { return this.attributes.get(name) ?? null; }
  hasAttribute(name) { return this.attributes.has(name); }
  removeAttribute(name) { this.attributes.delete(name); }

  get classList() {
    const names = () => this.className.split(/\s+/).filter(Boolean);
    const contains = (name) => names().includes(name);
    const toggle = (name, is = !contains(name)) => {
      this.className = [...names().filter((each) => each !== name), ...(is ? [name] : [])].join(" ");
      return is;
    };
    return { contains, toggle, add: (name) => toggle(name, true), remove: (name) => toggle(name, false) };
  }

  get elements() {
    return Object.fromEntries(this.querySelectorAll("[name]").map((field) => [field.name, field]));
  }

  // --- the tree ---

  get children() { return this.childNodes.filter((node) => node instanceof Element); }
  get firstElementChild() { return this.children[0] ?? null; }
  get lastElementChild() { return this.children.at(-1) ?? null; }
  get lastChild() { return this.childNodes.at(-1) ?? null; }
  get nextElementSibling() { return this.#beside(1); }
  get previousElementSibling() { return this.#beside(-1); }

  #beside(step) {
    const all = this.parentElement?.children ?? [];
    return all[all.indexOf(this) + step] ?? null;
  }

  insert(at, nodes) {
    for (const node of nodes) if (node instanceof Element) node.remove();
    for (const node of nodes) if (node instanceof Element) node.parentElement = this;
    this.childNodes.splice(at, 0, ...nodes.map((node) => (node instanceof Element ? node : String(node))));
  }

  append(...nodes) { this.insert(this.childNodes.length, nodes); }
  prepend(...nodes) { this.insert(0, nodes); }
  after(...nodes) { this.parentElement.insert(this.parentElement.childNodes.indexOf(this) + 1, nodes); }

  remove() {
    const above = this.parentElement;
    if (!above) return;
    above.childNodes.splice(above.childNodes.indexOf(this), 1);
    this.parentElement = null;
  }

  replaceWith(...nodes) {
    this.after(...nodes);
    this.remove();
  }

  replaceChildren(...nodes) {
    for (const child of this.children) child.remove();
    this.childNodes = [];
    this.append(...nodes);
  }

  cloneNode() { return parse(this.outerHTML)[0]; }

  contains(other) {
    for (let at = other; at; at = at.parentElement) if (at === this) return true;
    return false;
  }

  get textContent() { return this.childNodes.map((node) => (node instanceof Element ? node.textContent : node)).join(""); }
  set textContent(text) { this.replaceChildren(...(text === "" ? [] : [text])); }
  get innerHTML() { return this.childNodes.map((node) => node.outerHTML ?? node).join(""); }
  set innerHTML(html) { this.replaceChildren(...parse(html)); }
  set outerHTML(html) { this.replaceWith(...parse(html)); }
  get outerHTML() {
    const tag = this.tagName.toLowerCase();
    const attributes = [...this.attributes].map(([name, value]) => ` ${name}="${value}"`).join("");
    return `<${tag}${attributes}>${VOID.includes(tag) ? "" : `${this.innerHTML}</${tag}>`}`;
  }

  // --- selectors ---

  matches(selector) { return matches(this, selector, this); }

  closest(selector) {
    for (let at = this; at; at = at.parentElement) if (at.matches(selector)) return at;
    return null;
  }

  querySelectorAll(selector) {
    const all = (node) => node.children.flatMap((child) => [child, ...all(child)]);
    return all(this).filter((node) => matches(node, selector, this));
  }

  querySelector(selector) { return this.querySelectorAll(selector)[0] ?? null; }

  // --- what a person does ---

  focus() {
    if (!this.matches(FOCUSABLE) || document.activeElement === this) return;
    document.activeElement.dispatchEvent(new Event("blur", { bubbles: false }));
    document.activeElement = this;
    this.dispatchEvent(new Event("focusin", { bubbles: true }));
  }

  click() { fire(this, "click", { button: 0 }); }
  select() { document.selection = this.value; }
  scrollIntoView() { document.scrolledTo = this; }
  scrollBy() {}
  getBoundingClientRect() { return { left: 0, top: 0, width: this.clientWidth, height: this.clientHeight }; }
  checkVisibility() { return !this.closest("[hidden]"); }
  requestSubmit() { fire(this, "submit"); }
  setCustomValidity(message) { this.validationMessage = message; }
  reportValidity() { return !this.validationMessage; }
  get options() { return this.querySelectorAll("option"); }

  showModal() { this.open = true; }
  close() {
    this.open = false;
    this.dispatchEvent(new Event("close", { bubbles: false }));
  }

  getContext() { return CONTEXT; }
}

const reflect = (name, get, set) => Object.defineProperty(Element.prototype, name, { get, set, configurable: true });
for (const [name, attribute] of Object.entries(TEXTS)) {
  reflect(name, function get() { return this.attributes.get(attribute) ?? ""; }, function set(value) { this.setAttribute(attribute, value); });
}
for (const name of FLAGS) {
  reflect(name, function get() { return this.attributes.has(name); }, function set(is) { is ? this.setAttribute(name, "") : this.removeAttribute(name); });
}
for (const [name, attribute] of Object.entries(NUMBERS)) {
  reflect(name, function get() { return Number(this.attributes.get(attribute) ?? -1); }, function set(value) { this.setAttribute(attribute, value); });
}

// A canvas that takes every command; a letter is 6 px wide.
const CONTEXT = new Proxy({}, { get: (_, name) => (name === "measureText" ? (text) => ({ width: text.length * 6 }) : () => CONTEXT), set: () => true });

// --- HTML and selectors ---

// Returns the nodes of a text in HTML: no entities, no comments, every value in double quotes.
export function parse(html) {
  const root = new Element("fragment");
  let at = root;
  for (const [text, slash, tag, attributes] of html.matchAll(/<(\/?)([\w-]+)((?:[^">]|"[^"]*")*)>|[^<]+/g)) {
    if (!tag) at.append(text);
    else if (slash) at = at.above;
    else {
      const element = new Element(tag);
      for (const [, name, value] of attributes.matchAll(/([\w-]+)(?:="([^"]*)")?/g)) element.setAttribute(name, value ?? "");
      at.append(element);
      if (VOID.includes(tag)) continue;
      const inside = element.content ?? element;
      inside.above = at;
      at = inside;
    }
  }
  return [...root.childNodes].map((node) => {
    if (node instanceof Element) node.parentElement = null;
    return node;
  });
}

const PART = /^(?:([\w-]+|\*)|#([\w-]+)|\.([\w-]+)|\[([\w-]+)(?:([*^]?=)"?([^"\]]*)"?)?\]|:(not|is)\(((?:[^()]|\([^()]*\))*)\)|:(scope|checked|disabled))/;

function matches(element, selector, scope) {
  return splitOutside(selector, ",").some((each) => {
    const steps = splitOutside(each.trim().replace(/\s*>\s*/g, " > "), " ").filter(Boolean);
    return leads(element, steps, scope);
  });
}

// Returns whether the last step is the element, and the others its ancestors.
function leads(element, steps, scope) {
  if (!isA(element, steps.at(-1), scope)) return false;
  const [isChild, above] = steps.at(-2) === ">" ? [true, steps.slice(0, -2)] : [false, steps.slice(0, -1)];
  if (!above.length) return true;
  for (let at = element.parentElement; at; at = isChild ? null : at.parentElement) if (leads(at, above, scope)) return true;
  return false;
}

function isA(element, compound, scope) {
  let rest = compound;
  while (rest) {
    const [part, tag, id, className, name, how, value, kind, inner, state] = PART.exec(rest) ?? [];
    if (part === undefined) throw new Error(`unknown selector ${compound}`);
    rest = rest.slice(part.length);
    const text = name ? element.getAttribute(name) : null;
    if (tag && tag !== "*" && element.tagName !== tag.toUpperCase()) return false;
    if (id && element.id !== id) return false;
    if (className && !element.classList.contains(className)) return false;
    if (name && text === null) return false;
    if (how === "=" && text !== value) return false;
    if (how === "^=" && !text.startsWith(value)) return false;
    if (kind && matches(element, inner, scope) !== (kind === "is")) return false;
    if (state === "scope" && element !== scope) return false;
    if (state && state !== "scope" && !element[state]) return false;
  }
  return true;
}

function splitOutside(text, mark) {
  const parts = [""];
  let depth = 0;
  for (const char of text) {
    depth += "([".includes(char) ? 1 : ")]".includes(char) ? -1 : 0;
    if (char === mark && !depth) parts.push("");
    else parts[parts.length - 1] += char;
  }
  return parts;
}
