// The chart's pure modules: gaps, faint points, the nearest line, where keys lead, and what is said of a point.
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "../page.mjs";

const series = await load("chart/series.js");
const words = await load("chart/words.js");

function point(day, value, { spread = 1, views = 100, ...more } = {}) {
  const interval = spread === null || value === null ? null : [value - spread, value + spread];
  const at = `2026-11-${String(day).padStart(2, "0")}T00:00:00Z`;
  return { at, views, ms_per_view: value, ms_per_view_ci95: interval, is_too_few: false, ...more };
}

const answerOf = (lines, bucket = "day") => ({ bucket, lines: Object.entries(lines).map(([release, points]) => ({ release, points })) });
const read = (lines, bucket) => series.readSeries(answerOf(lines, bucket));
const iso = (times) => times.map((at) => new Date(at).toISOString().slice(0, 16));

test("a day that no line has is a gap on the grid", () => {
  const { times, lines } = read({ "v1.0": [point(1, 5), point(2, 6)], "v1.1": [point(5, 9)] });
  assert.deepEqual(iso(times), [1, 2, 3, 4, 5].map((day) => `2026-11-0${day}T00:00`));
  const values = lines.map((line) => series.columnsOf(line.points).value);
  assert.deepEqual(values, [[5, 6, null, null, null], [null, null, null, null, 9]]);
});

test("weeks and hours have grids of their own, and an answer without lines has no times", () => {
  assert.equal(read({ v1: [point(2, 1), point(16, 1)] }, "week").times.length, 3);
  assert.equal(read({ v1: [point(2, 1), point(3, 1)] }, "hour").times.length, 25);
  assert.deepEqual(read({}).times, []);
});

test("what has no interval is dashed, and in no band", () => {
  const { lines } = read({ v1: [point(1, 5), point(2, 6), point(3, 7, { spread: null, is_too_few: true }), point(4, 8), point(5, 9)] });
  const { value, low, dashed } = series.columnsOf(lines[0].points);
  assert.deepEqual(value, [5, 6, null, 8, 9]);
  assert.deepEqual(low, [4, 5, null, 7, 8]);
  assert.deepEqual(dashed, [null, 6, 7, 8, null]);
});

test("a line of all releases is named, and fields can have other names", () => {
  const whole = series.readSeries({ bucket: "day", lines: [{ release: null, points: [point(1, 5)] }] }, { whole: "All releases" });
  assert.deepEqual(whole.lines.map((line) => line.name), ["All releases"]);
  const answer = { bucket: "day", lines: [{ page: "/a", points: [{ at: "2026-11-01T00:00:00Z", views: 1, x: 3 }] }] };
  const [line] = series.readSeries(answer, { name: "page", value: "x" }).lines;
  assert.deepEqual([line.name, series.columnsOf(line.points).dashed], ["/a", [3]]);
});

const TWO = read({ new: [point(2, 9), point(3, 9.5)], old: [point(1, 5), point(2, 5)] });

test("the nearest line is of those shown that have a value there", () => {
  assert.equal(series.nearestLine(TWO, [true, true], 1, 8), 0);
  assert.equal(series.nearestLine(TWO, [true, true], 1, 6), 1);
  assert.equal(series.nearestLine(TWO, [false, true], 1, 9), 1);
  assert.equal(series.nearestLine(TWO, [false, true], 2, 9), null);
});

test("keys walk along a line and between lines", () => {
  const walk = (shown, keys) => {
    let place = null;
    return keys.map((key) => (place = series.moveBy(key, TWO, shown, place)) && [place.line, place.at]);
  };
  const keys = ["ArrowLeft", "ArrowLeft", "ArrowLeft", "ArrowDown", "Home", "ArrowUp", "End"];
  assert.deepEqual(walk([true, true], keys), [[0, 2], [0, 1], [0, 1], [1, 1], [1, 0], [0, 1], [0, 2]]);
  assert.deepEqual(walk([false, true], ["ArrowUp", "ArrowUp"]), [[1, 1], [1, 1]]);
  assert.deepEqual(walk([false, false], ["ArrowUp"]), [null]);
});

test("a dragged part is whole buckets, and all of them are no part", () => {
  const given = read({ v1: [point(1, 5), point(9, 6)] });
  const span = (low, high) => series.spanOf(given, Date.parse(low), Date.parse(high));
  assert.deepEqual(span("2026-11-03T07:00Z", "2026-11-04T01:00Z"), { from: "2026-11-03T00:00Z", to: "2026-11-05T00:00Z" });
  assert.equal(span("2026-10-01T00:00Z", "2026-12-01T00:00Z"), null);
  assert.equal(span("2026-12-01T00:00Z", "2026-12-02T00:00Z"), null);
});

test("a release is marked where its first trace arrived, or where older data begins", () => {
  const given = read({ "v1.1": [point(5, 5)], "v1.0": [point(1, 5)] });
  const marks = series.placeMarks(given, [["v1.1", "2026-11-05T07:00:00Z"], ["v1.0", "2026-11-20T00:00:00Z"], ["v0.9", "2026-10-01T00:00:00Z"]]);
  assert.deepEqual(marks.map(({ name, at }) => [name, ...iso([at])]), [
    ["v0.9", "2026-10-01T00:00"], // before the chart begins, which does not draw it
    ["v1.0", "2026-11-01T00:00"], // imported later
    ["v1.1", "2026-11-05T07:00"],
  ]);
});

test("ticks name the day where it begins, and the year once", () => {
  const noon = 1_795_262_400; // 2026-11-21 12:00 UTC; whatever the zone here, two days on it is another day
  const lines = words.asTicks([noon, noon + 60, noon + 2 * 86_400], 60).map((tick) => tick.split("\n").length);
  assert.deepEqual(lines, [2, 1, 2]);
  const days = words.asTicks([noon, noon + 86_400], 86_400);
  assert.deepEqual(days.map((day) => day.split("2026").length - 1), [1, 0]);
});

test("the marks of the value axis are short, and zero has no unit", () => {
  const plain = (...given) => words.asMarks(...given).map((text) => text.replaceAll("\u202f", " "));
  assert.deepEqual(plain([0, 500, 1_000], "ms"), ["0", "0.5 s", "1 s"]);
  assert.deepEqual(plain([0, 0.5, 0.125], "share"), ["0", "50 %", "12.5 %"]);
  assert.deepEqual(plain([0, 1_000], "count"), ["0", "1 000"]);
});

test("a point is written with unit, interval and views", () => {
  const describe = (...given) => {
    const [line] = read({ v1: [point(1, ...given)] }).lines;
    return words.describePoint(line.points[0], { what: "script time per view", unit: "ms" }).replaceAll("\u202f", " ");
  };
  assert.equal(
    describe(12.34, { views: 4_000, sampled_views: 400 }),
    "12.3 ms script time per view, 95 % interval 11.3 to 13.3 ms, n = 4 000 page views, interval from 400",
  );
  assert.equal(
    describe(12.34, { spread: null, views: 1, is_too_few: true }),
    "12.3 ms script time per view, interval none: too few page views, n = 1 page view",
  );
  assert.match(describe(12.34, { spread: null }), /interval not known/);
  assert.match(describe(1_000, { spread: 100 }), /95 % interval 900 ms to 1.10 s,/);
});
