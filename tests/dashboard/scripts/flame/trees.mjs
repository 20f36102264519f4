// Call trees as text, for tests: `A B C` on a line is 1 ms of C, which B called, which A called.
import { load } from "../page.mjs";

const { ALL, listCallees, readTree } = await load("flame/tree.js");
// Of functions, those that these tests leave empty.
const COLUMNS = ["uri", "line", "column", "original_source", "original_line", "original_column", "category", "package"];

export const STACKS = `
A B C
A B C
A B
A D B
E
`;

// Returns the answer of `flamegraph` for stacks. `functions` replaces columns of the functions.
export function answerOf(text, { views = 1, base = null, functions = {} } = {}) {
  const nodes = new Map(); // "node above, name" to node
  const prefix = [];
  const names = [];
  const funcs = [];
  const sides = [text, base].filter((stacks) => stacks !== null).reverse().map((stacks) => {
    const self = [];
    for (const stack of stacks.trim().split("\n")) {
      let above = -1;
      for (const name of stack.split(" ")) {
        const key = `${above} ${name}`;
        if (!nodes.has(key)) {
          nodes.set(key, prefix.push(above) - 1);
          if (!names.includes(name)) names.push(name);
          funcs.push(names.indexOf(name));
        }
        above = nodes.get(key);
      }
      self[above] = (self[above] ?? 0) + 1;
    }
    return self;
  });
  const sideOf = (self) => {
    const own = prefix.map((_, node) => self[node] ?? 0);
    const total = [...own];
    for (let node = prefix.length - 1; node >= 0; node--) if (prefix[node] >= 0) total[prefix[node]] += total[node];
    const js = own.reduce((sum, ms) => sum + ms, 0);
    return { views, traces: views, time_ms: { js, hidden: 0 }, self_ms: own, total_ms: total, hidden_ms: own.map(() => 0) };
  };
  return {
    functions: {
      id: names.map((_, n) => String(n)),
      name: names,
      label: names,
      ...Object.fromEntries(COLUMNS.map((column) => [column, names.map(() => null)])),
      ...functions,
    },
    nodes: { prefix, function: funcs },
    head: sideOf(sides.at(-1)),
    base: base === null ? null : sideOf(sides[0]),
    pruned_nodes: 0,
  };
}

export const treeOf = (text, more) => readTree(answerOf(text, more));

export const labelOf = (tree, node) => (node === ALL ? "all" : tree.funcs[tree.func[node]].label);

// A line a node, the heaviest callee first, two spaces a level.
export function picture(tree, side = "head") {
  const { start, nodes } = listCallees(tree, side);
  const lines = [];
  const pending = [[ALL, 0]];
  while (pending.length) {
    const [node, level] = pending.pop();
    const { total, self } = tree[side];
    lines.push(`${"  ".repeat(level)}- ${labelOf(tree, node)} (total: ${total[node]}, self: ${self[node]})`);
    for (let at = start[node + 1] - 1; at >= start[node]; at--) pending.push([nodes[at], level + 1]);
  }
  return `\n${lines.join("\n")}\n`;
}

// The labels from the root to a node.
export function stackOf(tree, node) {
  const labels = [];
  for (let at = node; at !== ALL; at = tree.prefix[at]) labels.unshift(labelOf(tree, at));
  return labels.join(" ");
}
