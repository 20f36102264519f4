// The timeline of a view without a browser: keys tell what ran when, its tables have all of it, and what fails is said.
// How samples become bars is tested with the server's own answers (tests/dashboard/pages/page_views).
import assert from "node:assert/strict";
import { test } from "node:test";

import { fire, openPage, press, run, settle } from "../page.mjs";

const [JS, HIDDEN, IDLE] = [0, 1, 2];
// A view of 200 ms: boot called draw from 40 to 120 ms, 20 ms are hidden and 20 idle, then click ran.
const KINDS = [...Array(12).fill(JS), HIDDEN, HIDDEN, IDLE, IDLE, ...Array(4).fill(JS)];
const STACKS = [...Array(4).fill(0), ...Array(8).fill(1), -1, -1, -1, -1, ...Array(4).fill(2)];
const MARKS = [["longtask", "", 0, 140], ["measure", "hydrate", 20, 50], ["largest-contentful-paint", "", 60, 0], ["interaction", "pointerdown", 160, 40]];
const NAMES = ["boot", "draw", "click"];
const column = (value) => NAMES.map(() => value);
const FUNCTIONS = {
  id: ["1", "2", "3"], name: NAMES, label: NAMES, uri: column("https://shop.example/app.js"), line: column(1), column: [10, 20, 30],
  ...Object.fromEntries(["original_source", "original_line", "original_column", "category", "package"].map((name) => [name, column(null)])),
};
const mark = ([type, name, start, duration]) => ({ type, name, start_ms: start, duration_ms: duration, facts: {}, scripts: [] });

function answerOf({ marks = MARKS, kinds = KINDS, lanes = 1 } = {}) {
  const trace = kinds.map((_, n) => (n < kinds.length / 2 || lanes < 2 ? 0 : 1));
  return {
    interval_ms: 10,
    functions: FUNCTIONS,
    stacks: { prefix: [-1, 0, -1], function: [0, 1, 2] },
    samples: { time_ms: kinds.map((_, n) => n * 10), weight_ms: kinds.map(() => 10), stack: STACKS.slice(0, kinds.length), kind: kinds, hidden_stack: kinds.map(() => -1), trace },
    traces: Array.from({ length: lanes }, (_, lane) => ({ lane, start_ms: 0, end_ms: kinds.length * 10 })),
    gaps: { start_ms: [], end_ms: [], trace: [] },
    marks: marks.map(mark),
  };
}

// As dashboard/templates/dashboard/views/view.html has it.
const HTML = `<section id="timeline" data-url="/timeline" data-function-url="/projects/shop/functions/ID/"><p id="timeline-facts"></p>
  <div id="timeline-problem" hidden><p class="words"></p><button id="timeline-again" hidden></button></div>
  <div id="timeline-tools" hidden><button data-move="in">In</button><button data-move="out">Out</button><button data-move="all">All</button></div>
  <div id="timeline-graph" hidden><canvas id="tracks-canvas" tabindex="0"></canvas><div class="flame-scroll"><div><canvas id="stacks-canvas" tabindex="0"></canvas></div></div></div>
  <div id="timeline-details"></div><ul id="timeline-legend"></ul><div id="timeline-tables" hidden></div></section>
  <ul id="time-parts"><li data-key="js">Scripts ran</li></ul><ul id="flame-categories"></ul>`;
const find = (selector) => document.querySelector(selector);
const plain = (node) => node.textContent.replaceAll("\u202f", " ");
const details = () => plain(find("#timeline-details"));
const hover = (id, ms, y) => fire(find(id), "pointermove", { clientX: ms * 5, clientY: y, pointerType: "mouse", buttons: 0 }); // 1,000 px

async function open(answer = answerOf()) {
  openPage(HTML, { answers: { "/timeline": answer } });
  await run("timeline/page.js");
  await settle();
}

function tableOf(title) {
  const fold = document.querySelectorAll("#timeline-tables details").find((each) => plain(each.firstElementChild) === title);
  fold.open = true;
  fire(fold, "toggle", { bubbles: false });
  return fold.querySelectorAll("tbody tr").map((row) => row.children.map(plain).join("|"));
}

test("keys and the mouse tell which call ran when", async () => {
  await open();
  assert.equal(plain(find("#timeline-facts")), "200 ms long · 20 samples · one every 10 ms · 4 marks");
  assert.equal(details(), "A bar is at least one sample of 10 ms. Shorter calls may be missing.");
  find("#stacks-canvas").focus();
  press("ArrowDown");
  assert.equal(details(), "draw app.js:1:208 samples of 10 ms; shorter calls may be missingHere80 ms 8 samplesFrom40 ms to 120 msSelf in view80 msTotal in view80 ms 8 samples");
  press("ArrowUp", "ArrowRight");
  assert.match(details(), /^\(hidden\).*or to none\.Here20 ms 2 samples/);
  press("ArrowRight");
  assert.match(details(), /^click/);
  assert.equal(find("#timeline-details a").href, "/projects/shop/functions/3/");
  hover("#stacks-canvas", 20, 8);
  assert.match(details(), /^boot/);
});

test("keys and the mouse tell of marks and of what the main thread did", async () => {
  await open();
  find("#tracks-canvas").focus();
  press("ArrowRight");
  assert.match(details(), /^Long taskAt0 ms after the startTook140 msUntil140 ms$/);
  press("ArrowRight");
  assert.match(details(), /^Measure hydrateAt20 ms after the startTook50 ms/);
  hover("#tracks-canvas", 150, 50);
  assert.match(details(), /^IdleAt150 ms after the startFrom140 ms to 160 msTook20 ms 10.0 %$/);
});

test("both canvases zoom together, and back", async () => {
  await open();
  find("#tracks-canvas").focus();
  press("ArrowRight", "ArrowRight", "Enter"); // hydrate, 20 to 70 ms, with a tenth on each side
  await settle();
  hover("#tracks-canvas", 199.4, 50);
  assert.match(details(), /^ScriptAt74.8 ms/);
  find('[data-move="all"]').click();
  await settle();
  hover("#tracks-canvas", 199, 50);
  assert.match(details(), /^ScriptAt199 ms/);
  find('[data-move="in"]').click();
  await settle();
  hover("#tracks-canvas", 200, 50);
  assert.match(details(), /At150 ms/);
});

test("all of it is in tables too", async () => {
  await open();
  assert.deepEqual(tableOf("Marks as a table (4)"), [
    "Long task|0 ms|140 ms|Show", "Measure hydrate|20 ms|50 ms|Show", "LCP|60 ms|–|Show", "Interaction pointerdown|160 ms|40 ms|Show",
  ]);
  assert.deepEqual(tableOf("Activity as a table (4 rows)"), [
    "Script|0 ms|120 ms|12|draw|Show", "Hidden|120 ms|20 ms|2|–|Show", "Idle|140 ms|20 ms|2|–|Show", "Script|160 ms|40 ms|4|click|Show",
  ]);
});

test("the times of a table’s column have one unit, and a long table ends", async () => {
  await open(answerOf({ marks: [["longtask", "", 0, 1_300], ["longtask", "", 1_400, 60]] }));
  assert.deepEqual(tableOf("Marks as a table (2)"), ["Long task|0 ms|1.30 s|Show", "Long task|1.40 s|0.060 s|Show"]);
  await open(answerOf({ marks: Array(301).fill(MARKS[0]) }));
  assert.equal(tableOf("Marks as a table (301)").length, 300);
  assert.match(plain(find("#timeline-tables")), /300 of 301 marks\./);
});

test("a view without a stack has its tracks alone", async () => {
  await open(answerOf({ kinds: [IDLE, IDLE, IDLE], marks: [] }));
  assert.equal(details(), "No stack was seen in this view.");
  assert.equal(find(".flame-scroll").hidden, true);
  hover("#tracks-canvas", 60, 50);
  assert.match(details(), /^Idle/);
  find("#tracks-canvas").focus();
  press("+", "ArrowRight", "Enter");
  assert.deepEqual(tableOf("Marks as a table (0)"), []);
});

test("profilers that ran at once can be chosen", async () => {
  await open(answerOf({ lanes: 2 }));
  assert.match(plain(find("#timeline-facts")), /2 profilers ran at once$/);
  const select = find("#timeline-lane");
  assert.deepEqual(select.options.map(plain), ["Profiler 1", "Profiler 2"]);
  select.value = "1";
  fire(select, "change");
  await settle();
  hover("#stacks-canvas", 180, 8);
  assert.match(details(), /^click/);
  assert.equal(document.querySelectorAll("#timeline-lane").length, 1);
});

test("a view that cannot be fetched says why, and can be asked again where that can help", async () => {
  for (const [answer, words, again] of [[new Response("{}", { status: 401 }), /logged out/, false], [new TypeError("offline"), /did not answer/, true]]) {
    await open(answer);
    assert.match(plain(find("#timeline-problem")), words);
    assert.equal(!find("#timeline-again").hidden, again);
  }
});
