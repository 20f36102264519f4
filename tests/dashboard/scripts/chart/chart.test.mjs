// A chart on its page: keys tell of points, lines are hidden, a part narrows the time, and what cannot be fetched says so.
import assert from "node:assert/strict";
import { test } from "node:test";

import { fire, openPage, press, run, settle } from "../page.mjs";

const DAYS = ["2026-11-18", "2026-11-19", "2026-11-20", "2026-11-21"];
const point = (day, value, more = {}) => ({ at: `${DAYS[day]}T00:00:00Z`, views: 26, ms_per_view: value, ms_per_view_ci95: [value - 1, value + 1], is_too_few: false, ...more });
const ANSWER = {
  bucket: "day",
  lines: [
    { release: "1.1.0", points: [point(2, 60), point(3, 61, { views: 3, ms_per_view_ci95: null, is_too_few: true })] },
    { release: "1.0.0", points: [point(0, 20), point(2, 20)] },
  ],
};
// As dashboard/templates/dashboard/layout/_chart.html has it.
const HTML = `<figure class="chart" data-chart-url="/trend" data-chart-what="script time per view" data-chart-unit="ms" data-chart-brush=""
  data-chart-marks="[]" data-chart-empty="No data."><figcaption>Time</figcaption><p class="chart-status"></p><div class="chart-body"></div></figure>`;
const find = (selector) => document.querySelector(selector);
const readout = () => find(".chart-readout").textContent.replaceAll("\u202f", " ");

// Stands for uPlot: a day is 100 px.
class Plot {
  select = { left: 0, width: 0 };
  over = { clientHeight: 200 };
  constructor(options) { Object.assign(this, { options, shown: [] }); Plot.last = this; }
  setSeries(index, { show }) { this.shown[index] = show; }
  setSelect(select) { this.select = select; }
  posToVal(px) { return Date.parse(DAYS[0]) / 1000 + (px / 100) * 86_400; }
  valToPos(value) { return ((value - Date.parse(DAYS[0]) / 1000) / 86_400) * 100; }
  drag(left, width) { this.select = { left, width }; this.options.hooks.setSelect[0](this); }
  redraw() {}
  destroy() {}
}

async function open(answer = ANSWER) {
  const page = openPage(HTML, { answers: { "/trend": answer } });
  globalThis.uPlot = Plot;
  await run("chart/chart.js");
  await settle();
  return page;
}

test("keys tell of points, along a line and between lines", async () => {
  await open();
  find(".chart-plot").focus();
  press("ArrowRight");
  assert.match(readout(), /^1\.1\.0 · 61 ms script time per view, interval none: too few page views, n = 3 page views · .*\(UTC day\)$/);
  press("ArrowLeft");
  assert.match(readout(), /^1\.1\.0 · 60 ms script time per view, 95 % interval 59 to 61 ms, n = 26 page views/);
  press("ArrowDown");
  assert.match(readout(), /^1\.0\.0 · 20 ms/);
  press("Escape");
  assert.match(readout(), /^Point at the chart or use the arrow keys\. Drag to choose a shorter time\./);
});

test("a line can be hidden, and keys pass it over", async () => {
  await open();
  const [button] = document.querySelectorAll(".chart-legend button");
  button.click();
  assert.equal(button.getAttribute("aria-pressed"), "false");
  assert.deepEqual(Plot.last.shown.slice(1), [false, false, false, false]); // a value, two bounds, and its dashes
  find(".chart-plot").focus();
  press("ArrowRight");
  assert.match(readout(), /^1\.0\.0/);
});

test("a table has all points, the latest first", async () => {
  await open();
  const details = find(".chart-table");
  details.querySelector("table").rows = [];
  details.open = true;
  fire(details, "toggle");
  const rows = details.querySelectorAll("tbody tr").map((row) => row.children.slice(1).map((cell) => cell.textContent.replaceAll("\u202f", " ")));
  assert.deepEqual(rows, [
    ["1.1.0", "61 ms", "none: too few page views", "3 page views"],
    ["1.1.0", "60 ms", "59 to 61 ms", "26 page views"],
    ["1.0.0", "20 ms", "19 to 21 ms", "26 page views"],
    ["1.0.0", "20 ms", "19 to 21 ms", "26 page views"],
  ]);
  assert.deepEqual(details.querySelectorAll(".too-few").length, 1);
});

test("a part that is dragged narrows the time, unless Escape drops it or it is only a click", async () => {
  await open();
  Plot.last.drag(10, 4);
  assert.equal(document.gone, undefined);
  fire(window, "keydown", { key: "Escape" });
  Plot.last.drag(10, 100);
  assert.equal(document.gone, undefined);
  fire(find(".chart-plot"), "mousedown"); // another drag
  Plot.last.drag(110, 100);
  assert.match(document.gone, /\/projects\/shop\/\?from=2026-11-19T00%3A00Z&to=2026-11-21T00%3A00Z$/);
});

test("a part is chosen by keys too", async () => {
  await open();
  find(".chart-plot").focus();
  press("End", "Shift+ArrowLeft");
  assert.deepEqual([Plot.last.select.left, Plot.last.select.width], [200, 200]);
  press("ArrowLeft"); // drops it
  press("Enter");
  assert.equal(document.gone, undefined);
  press("End", "Shift+ArrowLeft", "Enter");
  assert.match(document.gone, /\?from=2026-11-20T00%3A00Z&to=2026-11-22T00%3A00Z$/);
});

test("a chart that cannot be fetched says so, and tries again where that can help", async () => {
  const answers = [
    [new Response("{}", { status: 503 }), "The server failed (status 503). Try again"],
    [Response.json({ detail: "Too long a time." }, { status: 400 }), "Too long a time. "],
    [new Response("", { status: 401 }), "You are logged out. Reload this page and log in. "],
    [new TypeError("offline"), "The server did not answer. Check the connection. Try again"],
    [{ bucket: "day", lines: [] }, "No data."],
  ];
  for (const [answer, words] of answers) {
    await open(answer);
    assert.equal(find(".chart-status").textContent, words);
    assert.equal(find(".chart").getAttribute("aria-busy"), null);
  }
  let failures = 1;
  await open(() => (failures-- > 0 ? new Response("{}", { status: 503 }) : ANSWER));
  find(".chart-status button").click();
  await settle();
  assert.equal(find(".chart-status").hidden, true);
  assert.ok(find(".chart-plot"));
});
