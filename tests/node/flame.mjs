// Prints what the flame graph's pure modules make of a tree, as JSON: `flame.mjs OPERATION`, the answer of `flamegraph` on
// standard input, with what else the operation needs in `asked`.
import { readFileSync } from "node:fs";

import * as address from "../../dashboard/static/dashboard/flame/address.js";
import * as colours from "../../dashboard/static/dashboard/flame/colours.js";
import * as layout from "../../dashboard/static/dashboard/flame/layout.js";
import * as noise from "../../dashboard/static/dashboard/flame/noise.js";
import * as recursion from "../../dashboard/static/dashboard/flame/recursion.js";
import * as trees from "../../dashboard/static/dashboard/flame/tree.js";
import * as words from "../../dashboard/static/dashboard/flame/words.js";

const { answer, asked } = JSON.parse(readFileSync(0, "utf8"));
const tree = answer ? trees.readTree(answer) : null;

// A line a node, the heaviest callee first, two spaces a level.
function picture(of, side = "head") {
  const { start, nodes } = trees.listCallees(of, side);
  const lines = [];
  const pending = [[trees.ALL, 0]];
  while (pending.length) {
    const [node, level] = pending.pop();
    const name = node === trees.ALL ? "all" : of.funcs[of.func[node]].label;
    lines.push(`${"  ".repeat(level)}- ${name} (total: ${of[side].total[node]}, self: ${of[side].self[node]})`);
    for (let at = start[node + 1] - 1; at >= start[node]; at--) pending.push([nodes[at], level + 1]);
  }
  return lines;
}

function bars(side) {
  const laid = layout.layOut(tree, side);
  const name = (node) => (node === trees.ALL ? "all" : tree.funcs[tree.func[node]].label);
  return laid.rows.map((row) => [...row].map((node) => [name(node), laid.x[node], laid.width[node]]));
}

function walk(keys) {
  const laid = layout.layOut(tree);
  let node = trees.ALL;
  return keys.map((key) => {
    node = layout.neighbour(laid, tree, node, key);
    return node === trees.ALL ? "all" : tree.funcs[tree.func[node]].label;
  });
}

function find(places) {
  const laid = layout.layOut(tree);
  return places.map(([depth, x]) => {
    const node = layout.nodeAt(laid, depth, x);
    return node < 0 ? null : node === trees.ALL ? "all" : tree.funcs[tree.func[node]].label;
  });
}

function search([text, categories]) {
  const found = trees.searchTree(tree, text, categories);
  return found && { nodes: [...found.nodes.keys()].filter((node) => found.nodes[node]).length, ms: found.ms, funcs: found.funcs };
}

function colour(by) {
  const made = colours.colourTree(tree, by, [["library", "Library"]]);
  return [...made.of].slice(1).map((entry, at) => [tree.funcs[tree.func[at + 1]].label, made.entries[entry].property]);
}

// What may be noise, by the label of each function, of the tree or the tree turned over.
function judge(of, answer) {
  noise.markSure(of.funcs, of.judgedBy, answer, { isAwaited: asked.isAwaited });
  const nodes = Array.from({ length: of.count - 1 }, (_, index) => index + 1).filter((node) => noise.isNoise(of, node));
  return { state: noise.stateOf(of), nodes: nodes.map((node) => of.funcs[of.func[node]].label) };
}

// The labels from the root to a node.
function stackOf(of, node) {
  const labels = [];
  for (let at = node; at !== trees.ALL; at = of.prefix[at]) labels.unshift(of.funcs[of.func[at]].label);
  return labels.join(" ");
}

// Of each node its path, and where the path leads.
function paths() {
  return Array.from({ length: tree.count }, (_, node) => {
    const path = address.writePath(tree, node);
    return [path, stackOf(tree, address.findPath(tree, path).node)];
  });
}

function lead([text, above]) {
  const found = address.findPath(tree, text, above ? address.findPath(tree, above).node : trees.ALL);
  return [stackOf(tree, found.node), found.isWhole];
}

function relative([path, above]) {
  const [node, from] = [path, above].map((text) => address.findPath(tree, text).node);
  return address.writePath(tree, node, from);
}

// For each function: self, total, hidden, and the total before.
function facts(of) {
  const sums = trees.sumFuncs(of).map((sum) => [of.funcs[sum.func].label, sum.self, sum.total, sum.hidden, sum.baseTotal]);
  return { sums: sums.sort(), all: [of.head.total[trees.ALL], of.base?.total[trees.ALL] ?? null] };
}

function legend([by, names]) {
  const made = colours.colourTree(tree, by, names ?? []);
  return made.entries.filter((entry) => entry.word).map((entry) => [entry.word, entry.property, entry.share]);
}

const operations = {
  paths,
  lead: () => lead(asked),
  relative: () => relative(asked),
  collapsed: () => picture(recursion.collapseRecursion(tree)),
  collapsedTurned: () => picture(trees.turnOver(recursion.collapseRecursion(tree))),
  facts: () => [facts(tree), facts(recursion.collapseRecursion(tree))],
  chosenColour: () => colours.chooseColour(tree, asked ?? []),
  legend: () => legend(asked),
  colour: () => colour(asked),
  noise: () => judge(tree, asked.found),
  noiseTurned: () => judge(trees.turnOver(tree), asked.found),
  picture: () => picture(tree, asked ?? "head"),
  bars: () => bars(asked ?? "head"),
  turned: () => picture(trees.turnOver(tree)),
  callers: () => picture(trees.treeOfCallers(tree, asked)),
  callees: () => picture(trees.treeOfCallees(tree, asked)),
  sums: () => trees.sumFuncs(tree).map(({ func, self, total }) => [tree.funcs[func].label, self, total]),
  search: () => search(asked),
  walk: () => walk(asked),
  find: () => find(asked),
  move: () => asked.map(([view, how]) => layout.moveView(view, how)),
  column: () => asked.map((values) => values.map((ms) => words.asTimeIn(ms, words.chooseUnit(values)))),
  columnOfChanges: () => asked.map((values) => values.map((ms) => words.asChangeIn(ms, words.chooseUnit(values)))),
  words: () => asked.map(([name, value]) => words[name](value)),
};
console.log(JSON.stringify(operations[process.argv[2]]()));
