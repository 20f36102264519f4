// The command palette and the keys of every page: what is asked, chosen, opened and said, and when keys are letters.
import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { fire, giveClipboard, openPage, press, run, settle, type } from "../page.mjs";

// As dashboard/templates/dashboard/search has it.
const HTML = `<a id="search-button" href="/search/">Search <kbd data-key-of="" hidden>Ctrl K</kbd></a>
  <dialog id="palette" data-results-url="/search/results/"><input id="palette-find"><div id="palette-list"></div><p id="palette-said"></p><button id="palette-close"></button></dialog>
  <dialog id="keys"><button id="keys-close"></button><label><input type="checkbox" id="single-keys">Use keys without Ctrl</label></dialog>
  <main><input type="search" name="q"><input type="text" name="other"><div role="menu"><button id="item" role="menuitem">Zoom in</button></div>
  <a data-go="s" href="/settings/">Settings</a><a data-go="f" href="/functions/">Functions</a><button id="open-profile">Open</button></main>`;
const way = (id, name, act = "") => `<a role="option" id="${id}" href="/${id}/"${act && ` data-act="${act}"`}>${name}</a>`;
const WAYS = `<div class="found"><p>Pages</p>${way("overview", "Overview")}${way("functions", "Functions")}</div>
  <div class="found">${way("open", "Open in Firefox Profiler", "open-profile")}${way("copy", "Copy page link", "copy-page")}${way("keys-way", "Keys", "show-keys")}</div>
  <div class="found" aria-labelledby="found-more">${way("docs", "API documentation")}</div>`;
const NOTHING = `<div class="found" aria-labelledby="found-more">${way("table", "Search the table")}</div>`;
const find = (selector) => document.querySelector(selector);
const field = () => find("#palette-find");
const said = () => find("#palette-said").textContent;
const chosen = () => find("[aria-selected=true]")?.textContent;

async function open({ results = {}, html = HTML, hasClipboard = true } = {}) {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  const answers = { "/search/results/": (url) => results[new URL(url, location.href).searchParams.get("find")] ?? new Response(WAYS) };
  globalThis.MouseEvent = Event;
  globalThis.localStorage = { kept: {}, getItem(name) { return this.kept[name] ?? null; }, setItem(name, value) { this.kept[name] = value; }, removeItem(name) { delete this.kept[name]; } };
  const page = openPage(html, { address: "https://fieldflame.example/projects/shop/?release=1.0.0", answers });
  giveClipboard(hasClipboard);
  page.opened = [];
  document.addEventListener("click", ({ target }) => { if (target.closest("[role=option]")) page.opened.push(target.id); });
  await run("search/palette.js");
  return page;
}

async function search(text, { isWaiting = true } = {}) {
  type(field(), text);
  mock.timers.tick(150);
  if (isWaiting) await settle();
}

async function openPalette() {
  press("Ctrl+k");
  mock.timers.tick(0);
  await settle();
  field().focus();
}

test("keys choose among the results, and go round", async () => {
  const { asked, opened } = await open();
  await openPalette();
  assert.equal(asked[0].url, "/search/results/?release=1.0.0&find=");
  assert.equal(chosen(), "Overview");
  press("ArrowDown");
  assert.equal(chosen(), "Functions");
  assert.equal(field().getAttribute("aria-activedescendant"), "functions");
  press("ArrowUp", "ArrowUp");
  assert.equal(chosen(), "API documentation"); // from the first to the last
  press("Enter");
  assert.deepEqual(opened, ["docs"]);
  assert.equal(find("#palette").open, false);
});

test("the key opens and closes it, and what it offered comes at once the next time", async () => {
  const { asked } = await open();
  await openPalette();
  press("Ctrl+k");
  assert.equal(find("#palette").open, false);
  press("Ctrl+k");
  assert.equal(chosen(), "Overview");
  assert.equal(asked.length, 1);
  for (const keys of ["Ctrl+Shift+k", "k", "Ctrl+Alt+k"]) assert.equal(press(keys).defaultPrevented, false, keys);
  fire(find("#palette"), "click"); // next to its box
  assert.equal(find("#palette").open, false);
});

test("only what the page can do is offered", async () => {
  await open();
  await openPalette();
  assert.ok(find("#open") && find("#copy"));
  await open({ hasClipboard: false, html: HTML.replace('id="open-profile"', 'id="open-profile" hidden') });
  await openPalette();
  assert.deepEqual([find("#open"), find("#copy")], [null, null]);
  assert.ok(find("#keys-way"));
});

test("an older answer is dropped, a slow one is waited for, and Enter before it opens its first result", async () => {
  const held = {};
  const hold = (text) => new Promise((resolve) => { held[text] = () => resolve(new Response(way(text, text))); });
  const results = { get nothing() { return hold("nothing"); }, get draw() { return hold("draw"); } };
  const { asked, opened } = await open({ results });
  await openPalette();
  await search("nothing");
  mock.timers.tick(300);
  assert.equal(said(), "Searching…");
  await search("draw");
  assert.equal(asked.find(({ url }) => url.endsWith("find=nothing")).signal.aborted, true);
  held.nothing();
  await settle();
  assert.notEqual(chosen(), "nothing");
  press("Enter");
  assert.deepEqual(opened, []);
  held.draw();
  await settle();
  assert.deepEqual([chosen(), opened, said()], ["draw", ["draw"], ""]);
});

test("what is not found is said, and so is a failure", async () => {
  const results = { nowhere: new Response(NOTHING), broken: new Response("", { status: 500 }), out: new Response("", { headers: { "HX-Redirect": "/login/" } }) };
  console.error = () => {};
  await open({ results });
  await openPalette();
  await search(" nowhere ");
  assert.equal(said(), "Nothing found for “nowhere”.");
  assert.equal(find("#palette-list").getAttribute("aria-label"), "Results");
  await search("broken");
  assert.equal(said(), "The search failed. Type again to repeat it.");
  await search("out");
  assert.equal(document.gone, "/login/");
});

async function openKeys() {
  const page = await open();
  await run("search/keys.js"); // with a palette of its own
  return page;
}

test("a slash searches the page, and letters that are typed stay letters", async () => {
  await openKeys();
  press("/");
  assert.equal(document.activeElement.name, "q");
  for (const key of ["/", "?", "g"]) assert.equal(press(key).defaultPrevented, false, key);
  assert.equal(find("dialog[open]"), null);
});

test("g and a letter go to a page, soon after each other", async () => {
  const { opened } = await openKeys();
  const went = [];
  for (const link of document.querySelectorAll("[data-go]")) link.click = () => went.push(link.dataset.go);
  press("g", "s", "s", "g", "x", "g", "f");
  assert.deepEqual([went, opened], [["s", "f"], []]);
  press("Ctrl+g", "s");
  for (const [key, timeStamp] of [["g", 10_000], ["s", 11_501]]) fire(document.body, "keydown", { key, timeStamp });
  assert.deepEqual(went, ["s", "f"]);
});

test("a question mark shows the keys, but neither in a menu nor over a dialog", async () => {
  await openKeys();
  find("#item").focus();
  press("?", "/");
  assert.equal(find("dialog[open]"), null);
  document.activeElement = document.body;
  press("?");
  assert.equal(find("#keys").open, true);
  press("/");
  assert.equal(document.activeElement, document.body);
  find("#keys-close").click();
  assert.equal(find("#keys").open, false);
});

test("keys without Ctrl can be turned off, also for the next page", async () => {
  await openKeys();
  const box = find("#single-keys");
  assert.equal(box.checked, true);
  box.checked = false;
  fire(box, "change");
  press("?");
  assert.equal(find("#keys").open, false);
  assert.deepEqual(Object.keys(localStorage.kept), ["fieldflame-no-single-keys"]);
  box.checked = true;
  fire(box, "change");
  press("?");
  assert.equal(find("#keys").open, true);
});

test("the search button is a button where there is a script", async () => {
  await open();
  const button = find("#search-button");
  assert.deepEqual([button.getAttribute("role"), find("kbd").hidden, find("kbd").textContent], ["button", false, "Ctrl K"]);
  button.focus();
  press(" ");
  assert.equal(find("#palette").open, true);
});
