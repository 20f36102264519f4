// The page "Flame graph" without a browser: what keys, the address, the tools and "back" show, and what is said meanwhile.
// What it draws, and by which places of the canvas it is pointed at, is tested in a browser.
import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { fire, giveClipboard, openPage, press, run, settle, type } from "../page.mjs";
import { answerOf } from "./trees.mjs";

const group = (name, panels, ...values) => `<div class="segmented" data-name="${name}" data-for="${panels}">${values
  .map((value, n) => `<button value="${value}" aria-pressed="${n === 0}">${value}</button>`).join("")}</div>`;
const colours = (isCompared) => [...(isCompared ? ["change"] : []), "category", "package", "file"].map((name) => `<option value="${name}">${name}</option>`).join("");
// As dashboard/templates/dashboard/flamegraph/page.html has it.
const html = (isCompared) => `<main>
  <section id="flame" data-url="/tree" data-jobs-url="/jobs" data-min-views="25" data-functions-url="/functions/" data-query="?release=2"
    data-compare-url="${isCompared ? "/compare?x=1" : ""}"><h1>Flame graph</h1>
  <p id="flame-facts"></p>
  <div id="flame-tools" hidden>
    ${group("show", "", "graph", "table", "sandwich")}${group("order", "graph table", "down", "up")}
    ${isCompared ? group("width", "graph table sandwich", "head", "base") : ""}${group("grow", "graph", "icicle", "flame")}
    <select name="colour">${colours(isCompared)}</select><input type="checkbox" name="collapse" value="1">
    <input type="search" name="find"><output id="flame-found"></output><button id="flame-out" hidden>Zoom out</button>
  </div>
  <div id="flame-problem" hidden><p class="words"></p><p class="way"></p><button id="flame-prepare" hidden></button>
    <button id="flame-ready" hidden></button><button id="flame-again" hidden></button></div>
  <div id="flame-empty" hidden><span class="words"></span></div><div id="flame-wait" hidden></div>
  <div id="show-graph" hidden><div class="flame-scroll"><div><canvas id="flame-canvas" tabindex="0"></canvas></div></div>
    <div id="flame-details"></div><ul id="flame-legend"></ul></div>
  <div id="show-sandwich" hidden></div><div id="show-table" hidden></div>
  <ul id="flame-categories"><li data-key="library">Library</li></ul></section>
  <p id="open-status"></p><form><input name="csrfmiddlewaretoken" value="token"></form></main>`;

// main (1 ms self) calls walk and visit by turns, then hash (12 ms); and tick, 4 ms.
const CALLS = ["main", "main walk", ...Array(2).fill("main walk visit walk visit"), ...Array(12).fill("main walk visit walk visit hash"), ...Array(4).fill("tick")].join("\n");
const at = (id) => document.getElementById(id);
const text = (id) => at(id).textContent.replaceAll("\u202f", " ");
const tool = (value) => at("flame-tools").querySelector(`[value="${value}"]`).click();
const query = () => location.search;
const functions = { uri: Array(5).fill("https://shop.example/app.js"), line: [1, 1, 1, 1, 1], column: [10, 20, 30, 40, 50] };

async function open(search = "", { answer = answerOf(CALLS, { functions }), answers = {} } = {}) {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  const page = openPage(html(answer.base), { address: `https://fieldflame.example/projects/shop/flame-graph/?release=2${search}`, answers: { "/tree": answer, ...answers } });
  giveClipboard();
  await run("flame/page.js");
  await settle();
  at("flame-canvas").focus();
  return page;
}

// The page keeps its place in the address a moment after the last key.
const keep = () => mock.timers.tick(250);

test("keys walk, zoom and come back", async () => {
  await open();
  assert.match(text("flame-facts"), /^20 ms script time per view · 1 page view · 1 trace · 7 call nodes · below 25 page views/);
  assert.deepEqual(["flame-tools", "flame-wait", "show-graph", "show-table"].map((id) => at(id).hidden), [false, true, false, true]);
  press("ArrowDown");
  assert.match(text("flame-details"), /^main app.js:1:10Total16 ms 80.0 %Self1 ms 5.0 %/);
  press("ArrowDown");
  assert.match(text("flame-details"), /^walk/);
  assert.match(text("flame-details"), /, called by main/);
  assert.equal(at("flame-details").querySelector("a").href, "/functions/1/?release=2");
  press("Enter");
  await settle();
  assert.equal(at("flame-out").hidden, false);
  press("Escape");
  await settle();
  assert.equal(at("flame-out").hidden, true);
  press("ArrowDown", "ArrowRight");
  assert.match(text("flame-details"), /^tick/);
  press("Home");
  assert.match(text("flame-details"), /^All callsPer view20 ms/);
});

test("zoom and choice are in the address, and back zooms out", async () => {
  await open();
  press("ArrowDown");
  keep();
  assert.match(query(), /&selected=0$/);
  press("Enter");
  assert.match(query(), /&focus=0$/);
  press("ArrowDown", "ArrowDown", "Enter");
  assert.match(query(), /&focus=0\.1\.2$/);
  press("ArrowDown");
  keep();
  assert.match(query(), /&focus=0\.1\.2&selected=\.1$/);
  history.back();
  assert.match(query(), /&focus=0$/);
  press("Escape"); // as "Back" does
  assert.doesNotMatch(query(), /focus=/);
  await settle();
  assert.equal(at("flame-out").hidden, true);
  history.forward();
  await settle();
  assert.match(query(), /&focus=0/);
  assert.equal(at("flame-out").hidden, false);
});

test("an address shows its call, or the nearest caller that is here", async () => {
  await open("&focus=0.1&selected=.2");
  assert.match(text("flame-details"), /^visit/);
  assert.equal(at("flame-out").hidden, false);
  await open("&focus=0.1.zzz.1&selected=.5");
  assert.match(text("flame-facts"), /^The call in the address is not here: this is its nearest caller\./);
  assert.match(text("flame-details"), /^walk/);
  assert.match(query(), /&focus=0\.1$/);
  await open("&focus=%3Cb%3E&selected=..&collapse=x&order=y&colour=z");
  assert.match(text("flame-facts"), /^The call in the address is not here\. /);
  assert.equal(query(), "?release=2");
});

test("recursion collapses, and the address says so", async () => {
  await open("&focus=0.1.2.1");
  const box = at("flame-tools").querySelector("[name=collapse]");
  box.checked = true;
  fire(box, "change");
  assert.match(query(), /&focus=0\.1\.2&collapse=1$/); // its path in a tree without recursion
  await open("&collapse=1");
  assert.equal(at("flame-tools").querySelector("[name=collapse]").checked, true);
  press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown");
  assert.match(text("flame-details"), /^hash .*Total12 ms 60.0 %/);
});

test("by caller, what took time itself comes first", async () => {
  await open();
  tool("up");
  assert.match(query(), /order=up/);
  at("flame-canvas").focus();
  press("ArrowDown");
  assert.match(text("flame-details"), /^hash .*Self time, on this path12 ms 60.0 %/);
  press("ArrowDown");
  assert.match(text("flame-details"), /^visit/);
  tool("table");
  const heads = at("show-table").querySelectorAll("thead th").map((head) => head.textContent);
  assert.deepEqual(heads, ["Function", "Self per view, on this path", "Share of script time"]);
});

test("the table is a tree for keys, and its times have one unit", async () => {
  await open("&show=table");
  const rows = () => at("show-table").querySelectorAll("tbody tr");
  const words = (row) => row.children.map((cell) => cell.textContent.replaceAll("\u202f", " ")).join("|");
  assert.equal(rows().length, 2); // main, and tick; walk has less than most of its time
  rows()[0].focus();
  press("ArrowRight", "ArrowDown");
  assert.equal(words(document.activeElement), "walk app.js:1:20|15 ms|75.0 %|1 ms|0 ms");
  assert.deepEqual(["aria-level", "aria-posinset", "aria-setsize"].map((name) => document.activeElement.getAttribute(name)), ["2", "1", "1"]);
  press("Enter", "End");
  assert.match(words(document.activeElement), /^tick/);
  press("Home", "ArrowLeft");
  assert.equal(rows().length, 2);
  press("ArrowRight", "ArrowDown", "ArrowLeft"); // to its caller
  assert.match(words(document.activeElement), /^main/);
  rows()[1].click();
  press("s");
  assert.match(query(), /show=sandwich&func=1/);
  const answer = answerOf("main\nmain draw");
  answer.head.total_ms = [1_512, 12];
  answer.head.time_ms.js = 1_512;
  await open("&show=table", { answer });
  assert.deepEqual(rows().map((row) => words(row).split("|")[1]), ["1.51 s", "0.012 s"]);
});

test("the table opens a callee with most of its caller’s time, and shows a long list in pieces", async () => {
  await open("&show=table", { answer: answerOf(Array.from({ length: 60 }, (_, n) => `a b c f${n}`).join("\n")) });
  const rows = () => at("show-table").querySelectorAll("tbody tr");
  rows()[2].focus();
  press("ArrowRight", "End");
  assert.equal(document.activeElement.textContent, "Show 10 lighter calls");
  press("Enter");
  assert.deepEqual([rows().length, document.activeElement.getAttribute("aria-posinset")], [63, "51"]);
});

test("the mouse points, zooms, drags and turns its wheel", async () => {
  await open();
  const canvas = at("flame-canvas"); // 1,000 px: main to 800, tick behind it; rows of 20 px
  const mouse = (name, x, y, more = {}) => fire(canvas, name, { clientX: x, clientY: y, button: 0, buttons: 0, pointerType: "mouse", isPrimary: true, pointerId: 1, ...more });
  canvas.setPointerCapture = () => {};
  const shown = () => text("flame-details").match(/^\w+/)[0];
  mouse("pointermove", 300, 28);
  assert.equal(shown(), "main");
  mouse("pointermove", 900, 28);
  assert.equal(shown(), "tick");
  mouse("pointerleave", 900, 28);
  assert.equal(shown(), "All");
  mouse("pointerdown", 900, 28);
  mouse("click", 900, 28);
  await settle();
  assert.equal(shown(), "tick");
  mouse("pointermove", 100, 28); // it has the full width now
  assert.deepEqual([shown(), at("flame-out").hidden], ["tick", false]);
  mouse("pointerdown", 100, 28);
  mouse("pointermove", 400, 28, { buttons: 1 });
  mouse("click", 400, 28); // it ends the drag, and zooms to nothing
  mouse("pointermove", 10, 28);
  assert.equal(shown(), "main");
  assert.equal(fire(canvas, "wheel", { deltaX: 0, deltaY: 100, clientX: 0 }).defaultPrevented, false); // the box scrolls
  assert.equal(fire(canvas, "wheel", { deltaX: 0, deltaY: 10_000, clientX: 0, ctrlKey: true }).defaultPrevented, true);
  assert.equal(at("flame-out").hidden, true);
});

test("a long press opens the menu and does not zoom", async () => {
  await open();
  const canvas = at("flame-canvas");
  const touch = (name) => fire(canvas, name, { clientX: 300, clientY: 28, button: 0, buttons: 1, pointerType: "touch", isPrimary: true });
  touch("pointerdown");
  touch("pointerup");
  mock.timers.tick(500);
  assert.equal(document.querySelector(".frame-menu"), null);
  touch("pointerdown");
  mock.timers.tick(500);
  assert.equal(document.activeElement.textContent, "Zoom inEnter");
  assert.equal(touch("touchend").defaultPrevented, true); // no click follows
  touch("click");
  assert.doesNotMatch(query(), /focus=/);
  press(" ");
  assert.match(query(), /focus=0$/);
});

test("a search says its share, leads to its matches, and stays in the address", async () => {
  await open();
  const find = at("flame-tools").querySelector("[name=find]");
  find.focus();
  type(find, "hash");
  press("Enter");
  assert.equal(text("flame-found"), "1 function, 60.0 % of script time");
  assert.match(query(), /q=hash/);
  assert.match(text("flame-details"), /^hash/);
  press("Escape");
  assert.equal(text("flame-found"), "");
  assert.equal(document.activeElement.id, "flame-canvas");
  assert.doesNotMatch(query(), /q=/);
});

test("a sandwich is an address, and back leads to what was shown before", async () => {
  await open();
  press("ArrowDown", "ArrowDown", "s");
  const heading = () => at("show-sandwich").querySelector(".halves h3").textContent.replaceAll("\u202f", " ");
  assert.match(heading(), /^walk .*15 ms total \(75.0 %\) · 1 ms self, per view, all calls$/);
  assert.match(query(), /show=sandwich&func=1/);
  at("show-sandwich").querySelectorAll(".func-list button").find((button) => button.textContent.startsWith("hash")).click();
  assert.match(heading(), /^hash /);
  assert.equal(at("show-sandwich").querySelector("h3 a").href, "/functions/3/?release=2");
  assert.match(at("show-sandwich").textContent, /No visible callees: all its time is self time\./);
  history.back();
  assert.match(heading(), /^walk /);
  history.back();
  assert.equal(at("show-graph").hidden, false);
  assert.doesNotMatch(query(), /show=/);
  history.forward();
  assert.match(heading(), /^walk /);
  await open("&show=sandwich&func=999");
  assert.match(text("flame-facts"), /^The function is in no call shown here/);
});

test("a plain page becomes a tree where there are scripts", async () => {
  await open("&plain=1");
  assert.equal(at("show-table").hidden, false);
  assert.equal(query(), "?release=2&show=table");
});

test("one category is coloured by file, until one chooses", async () => {
  const answer = answerOf(`${"one\n".repeat(12)}${"other\n".repeat(8)}`, { functions: { uri: ["https://shop.example/app.js", "https://shop.example/vendor.js"] } });
  await open("", { answer });
  const colour = at("flame-tools").querySelector("[name=colour]");
  assert.equal(colour.value, "file");
  assert.match(text("flame-legend"), /app.js 60.0 %/);
  assert.equal(query(), "?release=2");
  colour.value = "category";
  fire(colour, "change");
  assert.match(text("flame-legend"), /Unknown 100 %/);
  assert.match(query(), /&colour=category$/);
  await open("&colour=category", { answer });
  assert.equal(at("flame-tools").querySelector("[name=colour]").value, "category");
});

test("two sides are coloured by change, and what may be noise is said", async () => {
  const answer = answerOf(CALLS, { base: "main\nmain walk\ngone" });
  const { asked } = await open("", { answer, answers: { "/compare": { functions: [{ id: "0", delta_ms_per_view: 14, status: "changed", line: null, uri: null }] } } });
  assert.match(text("flame-facts"), /^3 ms to 20 ms script time per view · 1 page view before · 1 page view after · .*below 25 page views on a side/);
  assert.match(text("flame-legend"), /over 5 %.*could be noise, or/);
  assert.equal(asked.filter(({ url }) => url.startsWith("/compare")).length, 1);
  press("ArrowDown");
  assert.match(text("flame-details"), /Before2 msChange\+14 ms \+700 %$|Before2 msChange\+14 ms \+700 %Callers and callees$/);
  press("ArrowRight");
  assert.match(text("flame-details"), /^tick.*\+4 ms new, could be noise/);
  tool("base");
  at("flame-canvas").focus();
  press("Home", "ArrowDown", "ArrowRight");
  assert.match(text("flame-details"), /^gone.*−1 ms gone, could be noise/);
  tool("table");
  const changes = at("show-table").querySelectorAll("[data-label=Change]").map((cell) => cell.textContent.replaceAll("\u202f", " "));
  assert.ok(changes.includes("+14 ms more"), changes.join()); // a sign alone is easily missed
  assert.ok(changes.includes("+4 ms more, could be noise"), changes.join());
});

test("a menu by keys opens at the bar, moves, copies and gives the focus back", async () => {
  await open();
  const copied = giveClipboard();
  const items = () => document.querySelectorAll(".frame-menu [role]").map((item) => item.textContent);
  press("ArrowDown", "ArrowDown", "Shift+F10");
  assert.deepEqual(items(), ["Zoom inEnter", "Callers and calleess", "Open function", "Copy name", "Copy stack", "Collapse recursion"]);
  assert.equal(document.activeElement.textContent, "Zoom inEnter");
  press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", " ");
  await settle();
  assert.equal(text("open-status"), "Stack copied.");
  assert.deepEqual(copied, ["walk (https://shop.example/app.js:1:20)\nmain (https://shop.example/app.js:1:10)"]);
  assert.deepEqual(items(), []);
  assert.equal(document.activeElement.id, "flame-canvas");
  press("ContextMenu", "ArrowUp");
  assert.equal(document.activeElement.textContent, "Collapse recursion"); // from the first to the last
  press("Home", "Escape");
  assert.deepEqual(items(), []);
  assert.equal(document.activeElement.id, "flame-canvas");
  press("ContextMenu", "End", " ");
  assert.match(query(), /collapse=1/);
  press("ContextMenu");
  assert.equal(document.querySelector("[role=menuitemcheckbox]").getAttribute("aria-checked"), "true");
  fire(document.querySelector("h1"), "pointerdown");
  assert.deepEqual(items(), []);
});

test("what is not there is said, with what can be done", async () => {
  const empty = answerOf("main");
  Object.assign(empty, { nodes: { prefix: [], function: [] }, head: { ...empty.head, views: 0 } });
  await open("", { answer: empty });
  assert.match(text("flame-empty"), /No page view matches the filters\./);
  for (const [answer, words, again] of [
    [new Response("{}", { status: 401 }), /You are logged out\. Reload this page and log in\./, false],
    [new Response("{}", { status: 404 }), /The project is gone, or you may no longer see it\./, false],
    [new Response("-", { status: 502 }), /The server failed \(status 502\)\. Its log says why\./, true],
    [Response.json({ detail: "Too many at once." }, { status: 429 }), /Too many at once\./, true],
    [new TypeError("offline"), /The server did not answer\. Check the connection and try again\./, true],
  ]) {
    await open("", { answers: { "/tree": answer } });
    assert.match(text("flame-problem"), words);
    assert.equal(!at("flame-again").hidden, again, words);
    assert.equal(at("flame-prepare").hidden, true);
  }
});

test("a slice that is too large is prepared by a job, which the page finds again", async () => {
  const refusal = () => Response.json({ detail: "More than 1 raw traces would be folded. Or start a job: POST it.", job_kind: "flamegraph" }, { status: 422 });
  const job = { kind: "flamegraph", params: {}, state: "done", result_url: "/result", finished_at: "2026-11-21T12:00:00Z" };
  let jobs = [];
  const answers = { "/tree": refusal, "/result": answerOf(CALLS), "/jobs": (_, { method }) => (method === "POST" ? job : { jobs }) };
  const { asked } = await open("", { answers });
  assert.match(text("flame-problem"), /More than 1 raw traces would be folded\.This takes a while/);
  assert.doesNotMatch(text("flame-problem"), /POST/);
  assert.deepEqual([at("flame-prepare").hidden, at("flame-ready").hidden], [false, true]);
  at("flame-prepare").click();
  await settle();
  const posted = asked.find(({ method }) => method === "POST");
  assert.deepEqual([posted.headers["X-CSRFToken"], JSON.parse(posted.body)], ["token", { kind: "flamegraph", params: {} }]);
  assert.match(text("flame-facts"), /^20 ms script time per view/);
  jobs = [job];
  await open("", { answers });
  assert.match(text("flame-ready"), /^Show result of /);
  at("flame-ready").click();
  await settle();
  assert.match(text("flame-facts"), /^20 ms script time per view/);
});
