// By what bars are coloured, which colour each has, and which changes may be noise.
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "../page.mjs";
import { treeOf } from "./trees.mjs";

const colours = await load("flame/colours.js");
const noise = await load("flame/noise.js");
const { turnOver } = await load("flame/tree.js");
const WORDS = [["first-party", "First party"], ["library", "Library"]];

// A tree of functions: [name, ms of self time, category, package, file].
function codeOf(...rows) {
  const stacks = rows.map(([name, ms]) => `${name}\n`.repeat(ms)).join("");
  const column = (at) => rows.map((row) => row[at]);
  return treeOf(stacks, { functions: { category: column(2), package: column(3), uri: column(4) } });
}

const choose = (...rows) => colours.chooseColour(codeOf(...rows), WORDS);
const legend = (tree, by) => colours.colourTree(tree, by, []).entries.filter((entry) => entry.word);
const colourOf = (tree, by) => {
  const made = colours.colourTree(tree, by, [["library", "Library"]]);
  return Object.fromEntries([...made.of].slice(1).map((entry, at) => [tree.funcs[tree.func[at + 1]].label, made.entries[entry].property]));
};

test("colours are by category, unless one has nearly all of the time", () => {
  assert.equal(choose(["a", 80, "first-party", null, "/a.js"], ["b", 20, "library", null, "/b.js"]), "category");
  assert.equal(choose(["a", 70, "first-party", null, "/a.js"], ["b", 30, "first-party", null, "/b.js"]), "file");
});

test("packages come before files if the code has some", () => {
  assert.equal(choose(["a", 60, "library", "d3", "/a.js"], ["b", 40, "library", "vue", "/a.js"]), "package");
  assert.equal(choose(["a", 70, "library", null, "/a.js"], ["b", 30, "library", "vue", "/b.js"]), "file");
});

test("one file of one category keeps the categories", () => {
  assert.equal(choose(["a", 9, "library", null, "/a.js"]), "category");
});

test("a file has the same colour in any slice", () => {
  const slices = [
    codeOf(["a", 9, "library", null, "/a.js"], ["b", 5, "library", null, "/b.js"]),
    codeOf(["b", 8, "library", null, "/b.js"], ["c", 1, "library", null, "/c.js"]),
  ];
  const [one, other] = slices.map((tree) => legend(tree, "file").find(({ word }) => word === "b.js").property);
  assert.equal(one, other);
});

test("the heaviest files have colours of their own, and names that differ", () => {
  const rows = Array.from({ length: 12 }, (_, n) => [`f${n}`, 20 - n, "library", null, `https://shop.example/${n}/index.js`]);
  const entries = legend(codeOf(...rows), "file");
  const named = entries.filter(({ property }) => /^--flame-name-\d$/.test(property));
  assert.deepEqual(named.map(({ word }) => word), Array.from({ length: 9 }, (_, n) => `${n}/index.js`));
  assert.equal(new Set(named.map(({ property }) => property)).size, 9);
  const whole = rows.reduce((sum, [, ms]) => sum + ms, 0);
  assert.equal(entries.find(({ word }) => word === "Other files").share, (11 + 10 + 9) / whole);
});

test("a display rule’s colour comes before category and package, and not before a change", () => {
  const functions = { colour: [null, "red", null], category: ["library", "library", null], package: ["d3", "d3", null] };
  const tree = treeOf("A B\nA C", { base: "A B", functions });
  assert.deepEqual(colourOf(tree, "category"), { A: "--flame-library", B: "--shown-red", C: "--flame-unknown" });
  const { A, B, C } = colourOf(tree, "package");
  assert.match(A, /^--flame-name-/);
  assert.deepEqual([B, C], ["--shown-red", "--flame-none"]);
  assert.ok(!Object.values(colourOf(tree, "change")).includes("--shown-red"));
});

test("changes are coloured by their share of script time, and what may be noise is hatched", () => {
  const head = "gone\n".repeat(0) + "more\n".repeat(60) + "less\n".repeat(20) + "same\n".repeat(20);
  const tree = treeOf(head, { base: "more\n".repeat(50) + "less\n".repeat(29) + "same\n".repeat(20) });
  assert.deepEqual(colourOf(tree, "change"), { more: "--flame-more-3", less: "--flame-less-3", same: "--flame-same" });
  noise.markSure(tree.funcs, "total", { functions: [{ id: "0", delta_ms_per_view: 10, status: "changed", line: null, uri: null }] });
  assert.deepEqual(colourOf(tree, "change"), { more: "--flame-more-3", less: "--flame-noise", same: "--flame-same" });
});

// Which nodes may be noise, of A, B and C, which each took more in the head; `functions` are those of the comparison.
function judge(functions, { isAwaited = false, isTurned = false } = {}) {
  const whole = treeOf("A B C\nA B C\nA C", { base: "A B C" });
  const tree = isTurned ? turnOver(whole) : whole;
  noise.markSure(tree.funcs, tree.judgedBy, functions && { functions }, { isAwaited });
  const nodes = Array.from({ length: tree.count - 1 }, (_, index) => index + 1).filter((node) => noise.isNoise(tree, node));
  return [noise.stateOf(tree), nodes.map((node) => tree.funcs[tree.func[node]].label).join(" ")];
}

function changed(name, delta, more = {}) {
  const uri = "https://shop.example/a.js";
  return { id: String("ABC".indexOf(name)), delta_ms_per_view: delta, status: "changed", line: null, uri, original: null, ...more };
}

const SURE = [changed("A", 2), changed("C", 2)];

test("a node may be noise unless its function changed for certain", () => {
  assert.deepEqual(judge(SURE), ["known", "B"]);
  assert.deepEqual(judge([]), ["known", "A B C C"]);
});

test("a node that changed the other way than its function may be noise", () => {
  assert.deepEqual(judge([...SURE, changed("B", -1)]), ["known", "B"]);
});

test("what is awaited is as good as noise, and without an answer nothing is", () => {
  assert.deepEqual(judge(null, { isAwaited: true }), ["awaited", "A B C C"]);
  assert.deepEqual(judge(null), ["unknown", ""]);
});

test("what came and went without a source map may have moved", () => {
  const came = changed("B", 1, { status: "new", line: 1 });
  const went = changed("C", -1, { id: "9", status: "gone", line: 1 });
  assert.deepEqual(judge([...SURE, came, went]), ["known", "B"]);
  assert.deepEqual(judge([...SURE, came]), ["known", ""]);
});

test("what a source map of one side alone knows may have moved within its origin", () => {
  const original = { source: "src/a.ts", line: 1, column: 1 };
  const came = changed("B", 1, { status: "new", line: 1 });
  const went = changed("C", -1, { id: "9", status: "gone", line: 1 });
  assert.deepEqual(judge([...SURE, came, { ...went, original }]), ["known", "B"]);
  assert.deepEqual(judge([...SURE, { ...came, original }, went]), ["known", "B"]);
  assert.deepEqual(judge([...SURE, { ...came, original }, { ...went, original }]), ["known", ""]);
  assert.deepEqual(judge([...SURE, { ...came, original }, { ...went, uri: "https://vendor.example/a.js" }]), ["known", ""]);
});

test("by caller, the function at the root decides", () => {
  assert.deepEqual(judge([changed("C", 2)], { isTurned: true }), ["known", ""]); // C alone has self time
  assert.match(judge([changed("A", 2)], { isTurned: true })[1], /^C/);
});
