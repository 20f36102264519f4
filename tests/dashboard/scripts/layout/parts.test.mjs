// Parts that are fetched, on the screen and for paper; menus; and texts that are copied.
import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { fire, giveClipboard, openPage, press, run, settle } from "../page.mjs";

const find = (selector) => document.querySelector(selector);

async function open(script, html) {
  openPage(html);
  const triggered = [];
  window.htmx = { trigger: (part, name) => triggered.push(`${part.id} ${name}`) };
  await run(script);
  return triggered;
}

test("a part that fails says so, once, and can be asked again", async () => {
  const triggered = await open("layout/parts.js", `<p id="parts-said"></p><div id="part" data-said="The rows are there."></div>`);
  const part = find("#part");
  fire(part, "htmx:beforeRequest", { detail: { target: part } });
  assert.equal(part.getAttribute("aria-busy"), "true");
  for (const [status, words] of [[0, "The server did not answer."], [503, "The server failed. Its log says why."], [404, "The server answered with status 404."]]) {
    fire(part, status ? "htmx:responseError" : "htmx:sendError", { detail: { target: part, xhr: { status } } });
    assert.equal(part.querySelectorAll("[role=alert]").length, 1);
    assert.equal(part.textContent, `This part could not be loaded. ${words} Try again`);
    assert.equal(part.getAttribute("aria-busy"), null);
  }
  part.querySelector("button").click();
  assert.deepEqual([triggered, part.textContent, part.getAttribute("aria-busy")], [["part again"], "", "true"]);
  fire(part, "htmx:afterSwap", { detail: { target: part } });
  assert.deepEqual([part.getAttribute("aria-busy"), find("#parts-said").textContent], [null, "The rows are there."]);
});

const PARTS = `<div id="seen" hx-get="/a" hx-trigger="revealed"><p>content</p></div><div id="below" hx-get="/b" hx-trigger="revealed"><p class="part-wait"></p></div>
  <div id="far" hx-get="/c" hx-trigger="intersect once"><p class="skeleton"></p></div><div id="asked" hx-get="/d" hx-trigger="intersect" aria-busy="true"><p class="skeleton"></p></div>`;

test("before paper is printed, the parts that wait are asked for, each once", async () => {
  const triggered = await open("layout/print.js", PARTS);
  fire(window, "beforeprint");
  assert.deepEqual(triggered, ["below revealed", "far intersect"]);
  find("#far").setAttribute("aria-busy", "true");
  fire(window, "beforeprint");
  assert.equal(triggered.length, 2);
});

test("the keys for printing wait for the parts, and not for ever", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  await open("layout/print.js", PARTS);
  let printed = 0;
  window.print = () => { printed += 1; };
  assert.equal(press("P+Shift+Ctrl").defaultPrevented, false);
  assert.equal(press("Ctrl+p").defaultPrevented, true);
  mock.timers.tick(50);
  await settle();
  assert.equal(printed, 0);
  for (const part of document.querySelectorAll("[hx-get]")) {
    part.innerHTML = "<p>content</p>";
    part.removeAttribute("aria-busy");
  }
  mock.timers.tick(50);
  await settle();
  assert.equal(printed, 1);
  assert.equal(press("Ctrl+p").defaultPrevented, false); // the browser prints by itself
});

test("a menu closes by Escape, a click next to it, and a click on its button", async () => {
  await open("layout/menu.js", `<h1>Shop</h1><details class="menu"><summary>Export</summary><ul><li><button>Copy</button><a href="/x">Download</a></li></ul></details>`);
  const [menu, summary] = [find("details"), find("summary")];
  const isOpen = (act) => {
    menu.open = true;
    document.activeElement = document.body;
    act();
    return [menu.open, document.activeElement === summary];
  };
  assert.deepEqual(isOpen(() => { find("a").focus(); press("Escape"); }), [false, true]);
  assert.deepEqual(isOpen(() => press("Escape")), [true, false]); // it is elsewhere
  assert.deepEqual(isOpen(() => find("h1").click()), [false, false]);
  assert.deepEqual(isOpen(() => find("a").click()), [true, false]);
  assert.deepEqual(isOpen(() => find("button").click()), [false, true]);
});

test("a text is copied, or selected where there is no clipboard", async () => {
  for (const hasClipboard of [true, false]) {
    mock.timers.reset();
    mock.timers.enable({ apis: ["setTimeout"] });
    openPage(`<p><code>one line</code><button class="copy" hidden>Copy</button></p>`);
    const copied = giveClipboard(hasClipboard);
    await run("layout/copy-text.js");
    const button = find("button");
    assert.equal(button.hidden, false);
    button.click();
    await settle();
    assert.equal(button.textContent, hasClipboard ? "Copied" : "Selected: Ctrl+C");
    assert.deepEqual(hasClipboard ? copied : [document.selection], ["one line"]);
    mock.timers.tick(2_000);
    assert.equal(button.textContent, "Copy");
  }
});
