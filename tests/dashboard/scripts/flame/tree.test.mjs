// Trees turned over, cut in two, searched and without recursion.
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "../page.mjs";
import { answerOf, picture, STACKS, treeOf } from "./trees.mjs";

const trees = await load("flame/tree.js");
const { collapseRecursion } = await load("flame/recursion.js");
const { keepCallers } = await load("flame/table.js");

test("a tree is per view, under one row of all", () => {
  assert.equal(picture(treeOf(STACKS, { views: 2 })), `
- all (total: 2.5, self: 0)
  - A (total: 2, self: 0)
    - B (total: 1.5, self: 0.5)
      - C (total: 1, self: 1)
    - D (total: 0.5, self: 0)
      - B (total: 0.5, self: 0.5)
  - E (total: 0.5, self: 0.5)
`);
});

test("turned over, each function with self time comes first, and then who called it", () => {
  assert.equal(picture(trees.turnOver(treeOf(STACKS))), `
- all (total: 5, self: 0)
  - B (total: 2, self: 0)
    - A (total: 1, self: 1)
    - D (total: 1, self: 0)
      - A (total: 1, self: 1)
  - C (total: 2, self: 0)
    - B (total: 2, self: 0)
      - A (total: 2, self: 2)
  - E (total: 1, self: 1)
`);
});

test("a sandwich adds up the same time on both sides", () => {
  const tree = treeOf(STACKS);
  assert.equal(picture(trees.treeOfCallers(tree, 1)), `
- all (total: 4, self: 0)
  - B (total: 4, self: 0)
    - A (total: 3, self: 3)
    - D (total: 1, self: 0)
      - A (total: 1, self: 1)
`);
  assert.equal(picture(trees.treeOfCallees(tree, 1)), `
- all (total: 4, self: 0)
  - B (total: 4, self: 2)
    - C (total: 2, self: 2)
`);
});

test("a function that recurs counts once", () => {
  const tree = treeOf("A B A\nA B A\nB A\nA");
  const sums = trees.sumFuncs(tree).map(({ func, self, total }) => [tree.funcs[func].label, self, total]);
  assert.deepEqual(sums, [["A", 4, 4], ["B", 0, 3]]);
  assert.match(picture(trees.treeOfCallees(tree, 0)), /^\n- all \(total: 4, self: 0\)\n {2}- A \(total: 4, self: 2\)\n/);
  assert.match(picture(trees.treeOfCallers(tree, 0)), /\n {2}- A \(total: 4, self: 3\)\n/);
  const { count, ms, funcs } = trees.searchTree(tree, "a");
  assert.deepEqual({ count, ms, funcs }, { count: 3, ms: 4, funcs: 1 });
});

test("a search finds names, files and packages, and addresses by a slash", () => {
  const uri = ["https://render.example/app.js", "https://cdn.example/render/x.js", "app:///hash.js"];
  const functions = { uri, package: [null, null, "@render/kit"] };
  const find = (text, more = {}) => trees.searchTree(treeOf("render\ncommit\nhash", { functions: { ...functions, ...more } }), text);
  assert.equal(find(" RENDER ").funcs, 2);
  assert.equal(find("/render").funcs, 2);
  assert.equal(find("x.js").funcs, 1);
  assert.equal(find("orders.ts", { original_source: [null, null, "src/orders.ts"] }).funcs, 1);
  assert.equal(find("  "), null);
});

test("a search may be for categories, with or without a text", () => {
  const tree = treeOf("a b\na c\nb", { functions: { category: ["first-party", "library", null] } });
  const { count, ms, funcs } = trees.searchTree(tree, "", ["library"]);
  assert.deepEqual({ count, ms, funcs }, { count: 2, ms: 2, funcs: 1 });
  assert.equal(trees.searchTree(tree, "a", ["library"]).funcs, 0);
  assert.equal(trees.searchTree(tree, "", []), null);
});

test("a search leaves matches and their callers in the table", () => {
  const tree = treeOf("A B C\nA D\nE");
  const { keep } = keepCallers(tree, trees.searchTree(tree, "c"));
  assert.deepEqual([...keep.keys()].slice(1).filter((node) => keep[node]).map((node) => tree.funcs[tree.func[node]].label), ["A", "B", "C"]);
  assert.equal(keepCallers(tree, null), null);
});

test("a stack of ten thousand passes all of it", () => {
  const tree = treeOf(Array.from({ length: 10_000 }, (_, n) => `f${n}`).join(" "));
  assert.equal(trees.turnOver(tree).count, 10_001);
  assert.equal(trees.treeOfCallees(tree, 0).count, 10_001);
});

const collapsed = (text) => collapseRecursion(treeOf(text));

test("without recursion, a function that calls itself is one bar", () => {
  assert.equal(picture(collapsed("A A A B\nA A")), `
- all (total: 2, self: 0)
  - A (total: 2, self: 1)
    - B (total: 1, self: 1)
`);
});

test("without recursion, functions that call each other stand once on a path", () => {
  assert.equal(picture(collapsed("A B A B A B C\nA B C")), `
- all (total: 2, self: 0)
  - A (total: 2, self: 0)
    - B (total: 2, self: 0)
      - C (total: 2, self: 2)
`);
});

test("without recursion, a repeated call that took time itself stays", () => {
  assert.equal(picture(collapsed("A B A\nA B A C")), `
- all (total: 2, self: 0)
  - A (total: 2, self: 0)
    - B (total: 2, self: 0)
      - A (total: 1, self: 1)
      - C (total: 1, self: 1)
`);
});

for (const views of [1, 4]) {
  test(`without recursion, all sums are those of the whole tree (${views} views)`, () => {
    const answer = answerOf("A B A\nA B A C A\nB A B\nA A A B\nD\nC D C D C\nA D A D B", { views, base: "A B A B\nC D C\nD D" });
    answer.head.hidden_ms = answer.head.hidden_ms.map((_, node) => node % 3);
    // Lighter calls were left out below the first node: their time is in all totals above, and in no self time.
    answer.head.total_ms[0] += 8;
    answer.head.time_ms.js += 8;
    const whole = trees.readTree(answer);
    const less = collapseRecursion(whole);
    const sumsOf = (tree) => trees.sumFuncs(tree).sort((a, b) => a.func - b.func);
    assert.deepEqual(sumsOf(less), sumsOf(whole));
    for (const side of ["head", "base"]) assert.equal(less[side].total[0], whole[side].total[0]);
    assert.equal(whole.head.total[0], (7 + 8) / views);
  });
}

test("a tree without recursion can be turned over", () => {
  assert.equal(picture(trees.turnOver(collapsed("A B A B C\nA B A B"))), `
- all (total: 2, self: 0)
  - B (total: 1, self: 0)
    - A (total: 1, self: 1)
  - C (total: 1, self: 0)
    - B (total: 1, self: 0)
      - A (total: 1, self: 1)
`);
});
