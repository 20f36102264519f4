// Where bars lie, where keys and places lead, and the address of a bar.
import assert from "node:assert/strict";
import { test } from "node:test";

import { load } from "../page.mjs";
import { labelOf, stackOf, STACKS, treeOf } from "./trees.mjs";

const layout = await load("flame/layout.js");
const { findPath, writePath } = await load("flame/address.js");
const near = (value) => Math.round(value * 1e9) / 1e9;

function barsOf(tree, side = "head") {
  const laid = layout.layOut(tree, side);
  return laid.rows.map((row) => [...row].map((node) => [labelOf(tree, node), near(laid.x[node]), near(laid.width[node])]));
}

test("bars lie left-heavy within their callers", () => {
  assert.deepEqual(barsOf(treeOf(STACKS)), [
    [["all", 0, 1]],
    [["A", 0, 0.8], ["E", 0.8, 0.2]],
    [["B", 0, 0.6], ["D", 0.6, 0.2]],
    [["C", 0, 0.4], ["B", 0.6, 0.2]],
  ]);
});

test("each side of a comparison has widths of its own", () => {
  const tree = treeOf("A B\nA B\nA B\nA C", { base: "A C\nD" });
  assert.deepEqual(barsOf(tree).slice(1), [[["A", 0, 1]], [["B", 0, 0.75], ["C", 0.75, 0.25]]]);
  assert.deepEqual(barsOf(tree, "base").slice(1), [[["A", 0, 0.5], ["D", 0.5, 0.5]], [["C", 0, 0.5]]]);
});

test("an empty tree is one row without width, and a deep one has a row for each call", () => {
  const empty = treeOf("A");
  empty.head.total[0] = 0;
  assert.deepEqual(barsOf(empty), [[["all", 0, 0]]]);
  assert.equal(barsOf(treeOf(Array.from({ length: 10_000 }, (_, n) => `f${n}`).join(" "))).length, 10_001);
});

test("a place leads to its bar, and one next to all bars to none", () => {
  const tree = treeOf(STACKS);
  const laid = layout.layOut(tree);
  const places = [[0, 0.99], [1, 0.79], [1, 0.81], [2, 0.59], [2, 0.9], [9, 0.1], [-1, 0.1]];
  const bars = places.map(([depth, x]) => layout.nodeAt(laid, depth, x)).map((node) => (node < 0 ? null : labelOf(tree, node)));
  assert.deepEqual(bars, ["all", "A", "E", "B", null, null, null]);
});

test("keys lead to the caller, the heaviest callee, and along the row", () => {
  const tree = treeOf(STACKS);
  const laid = layout.layOut(tree);
  let node = 0;
  const keys = ["callee", "callee", "next", "next", "callee", "previous", "caller", "caller", "next", "callee", "caller"];
  const walk = keys.map((key) => labelOf(tree, (node = layout.neighbour(laid, tree, node, key))));
  assert.deepEqual(walk, ["A", "B", "D", "D", "B", "C", "B", "A", "E", "E", "all"]);
});

test("the view never leaves the whole", () => {
  const moves = [{ factor: 4 }, { shift: 9 }, { shift: -9 }, { factor: 0.5, at: 0 }, { factor: 0.5 }];
  assert.deepEqual(moves.map((how) => layout.moveView({ from: 0.25, to: 0.75 }, how)), [
    { from: 0, to: 1 },
    { from: 0.5, to: 1 },
    { from: 0, to: 0.5 },
    { from: 0.25, to: 0.5 },
    { from: 0.375, to: 0.625 },
  ]);
});

test("each path leads to its node", () => {
  const tree = treeOf(STACKS);
  const paths = Array.from({ length: tree.count }, (_, node) => writePath(tree, node));
  assert.deepEqual(paths, ["", "0", "0.1", "0.1.2", "0.3", "0.3.1", "4"]);
  assert.deepEqual(paths.map((path) => stackOf(tree, findPath(tree, path).node)), ["", "A", "A B", "A B C", "A D", "A D B", "E"]);
});

test("ids in a path are short, and may be any text", () => {
  const tree = treeOf("A B", { functions: { id: ["1234567", "r:a.b/ü~"] } });
  assert.deepEqual([1, 2].map((node) => writePath(tree, node)), ["qglj", "qglj.~r%3Aa%2Eb%2F%C3%BC~"]);
  assert.equal(stackOf(tree, findPath(tree, "qglj.~r%3Aa%2Eb%2F%C3%BC~").node), "A B");
});

test("a path that is gone leads to its nearest ancestor", () => {
  const tree = treeOf(STACKS);
  const lead = (path) => {
    const { node, isWhole } = findPath(tree, path);
    return [stackOf(tree, node), isWhole];
  };
  assert.deepEqual(["0.3.1", "0.3.zz.1", "zz", "%%%<b>"].map(lead), [["A D B", true], ["A D", false], ["", false], ["", false]]);
});

test("a selection is relative to the zoom", () => {
  const tree = treeOf(STACKS);
  const at = (path) => findPath(tree, path).node;
  assert.equal(writePath(tree, at("0.3.1"), at("0")), ".3.1");
  assert.equal(stackOf(tree, findPath(tree, ".3.1", at("0")).node), "A D B");
  assert.equal(writePath(tree, at("4"), at("0")), "4"); // it is elsewhere
  assert.equal(writePath(tree, at("0"), at("0")), "");
});

test("a path has a bound, and then means an ancestor", () => {
  const tree = treeOf(Array.from({ length: 2_000 }, (_, n) => `f${n}`).join(" "));
  const { length } = writePath(tree, tree.count - 1);
  assert.ok(length > 1_400 && length <= 1_500, `${length} characters`);
});
