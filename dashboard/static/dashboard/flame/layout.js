// The position of each node of a tree: from x to x + width, as parts of the whole, in the row of its depth. Pure.
import { ALL, listCallees } from "./tree.js";

// Returns the layout of a tree, the heaviest callee first. `rows[depth]` are the nodes of a row from left to right.
export function layOut(tree, side = "head") {
  const { start, nodes } = listCallees(tree, side);
  const total = tree[side].total;
  const x = new Float64Array(tree.count);
  const width = new Float64Array(tree.count);
  const depth = new Uint16Array(tree.count);
  const place = new Int32Array(tree.count); // in its row
  const whole = total[ALL];
  if (whole > 0) width[ALL] = 1;
  const rows = [[ALL]];
  for (let at = 0; whole > 0 && at < rows.length; at++) {
    const below = [];
    for (const node of rows[at]) {
      let left = x[node];
      for (let index = start[node]; index < start[node + 1]; index++) {
        const callee = nodes[index];
        if (!(total[callee] > 0)) break; // the others are lighter, so they are not on this side
        x[callee] = left;
        width[callee] = total[callee] / whole;
        depth[callee] = at + 1;
        place[callee] = below.length;
        left += width[callee];
        below.push(callee);
      }
    }
    if (below.length) rows.push(below);
  }
  return { x, width, depth, place, rows: rows.map((row) => Int32Array.from(row)), start, nodes };
}

// Returns the index in a row of the first node that ends right of `x`.
export function firstEndingAfter(layout, row, x) {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (layout.x[row[middle]] + layout.width[row[middle]] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Returns the node at a position, or -1.
export function nodeAt(layout, depth, x) {
  const row = layout.rows[depth];
  if (!row) return -1;
  const index = firstEndingAfter(layout, row, x);
  return index < row.length && layout.x[row[index]] <= x ? row[index] : -1;
}

// Returns the node that an arrow key leads to: the caller, the heaviest callee, or a neighbour in the row.
export function neighbour(layout, tree, node, direction) {
  if (direction === "caller") return node === ALL ? node : tree.prefix[node];
  if (direction === "callee") {
    const callee = layout.start[node] < layout.start[node + 1] ? layout.nodes[layout.start[node]] : node;
    return layout.width[callee] > 0 ? callee : node;
  }
  const row = layout.rows[layout.depth[node]];
  const index = layout.place[node] + (direction === "next" ? 1 : -1);
  return row[Math.min(Math.max(index, 0), row.length - 1)];
}

// Returns the part of the whole in which a node has the full width.
export function zoomOn(layout, node) {
  return { from: layout.x[node], to: layout.x[node] + layout.width[node] };
}

// Returns a view zoomed by `factor` around the position `at`, and moved by `shift` of its width, within the whole.
export function moveView(view, { at = 0.5, factor = 1, shift = 0 }, least = 1e-7) {
  const width = view.to - view.from;
  const wanted = Math.min(1, Math.max(least, width * factor));
  const from = view.from + (width - wanted) * at + shift * width;
  const start = Math.min(Math.max(from, 0), 1 - wanted);
  return { from: start, to: start + wanted };
}
