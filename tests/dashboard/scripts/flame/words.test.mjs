// Numbers and names are written as the server writes them: written.json is also read by the tests of the templates' filters.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { load } from "../page.mjs";

const words = await load("flame/words.js");
const written = JSON.parse(readFileSync(new URL("written.json", import.meta.url), "utf8"));
const plain = (text) => text.replaceAll("\u202f", " ");

for (const [kind, write] of Object.entries({ times: "asTime", changes: "asChange", shares: "asShare", counts: "asCount", names: "visible" })) {
  test(`${kind} are the server’s`, () => {
    for (const [value, text] of written[kind]) assert.equal(plain(words[write](value)), text, `${write}(${value})`);
  });
}

test("the marks of an axis have one unit", () => {
  for (const [values, texts] of written.scales) assert.deepEqual(words.asScale(values).map(plain), texts);
});

test("a column has the unit of its largest value, and so have its changes", () => {
  for (const [values, times, changes] of written.columns) {
    const unit = words.chooseUnit(values);
    assert.deepEqual(values.map((ms) => plain(words.asTimeIn(ms, unit))), times);
    assert.deepEqual(values.map((ms) => plain(words.asChangeIn(ms, unit))), changes);
  }
});

test("a place is file, line and column, and what a rule made of several functions is no built-in", () => {
  const func = { label: "draw", uri: "https://shop.example/assets/app.js", original: null, line: 1, column: 20 };
  assert.equal(words.placeOf(func), "app.js:1:20");
  assert.equal(words.placeOf({ ...func, original: { source: "src/draw.ts", line: 7, column: 2 } }), "draw.ts:7:2");
  assert.equal(words.placeOf({ ...func, label: "(anonymous) app.js:1:20" }), ""); // its name says it
  assert.equal(words.placeOf({ ...func, uri: null }), "built-in");
  assert.equal(words.placeOf({ ...func, uri: null, isGroup: true }), "several functions");
});
