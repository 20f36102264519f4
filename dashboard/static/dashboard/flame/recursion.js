// The call tree without recursion: on each path, a function has one bar, where it was first called. A call of a function
// that is already on its path is left out, and what it called stands below the last bar before it. If it took time
// itself, it stays as a last bar. So every sample keeps the function that ran and the set of those that waited: the self
// time, the total and the hidden time of each function are the same as before. Pure.
import { ALL, makeGrower } from "./tree.js";

export function collapseRecursion(tree) {
  const grower = makeGrower(tree);
  const made = [0]; // parent of each new node, to walk up
  const funcs = [-1];
  const known = new Map(); // "parent function" to node
  const rest = restOf(tree);
  const at = new Int32Array(tree.count); // the new node below which a node's callees stand

  const child = (above, func) => {
    const key = above * (tree.funcs.length + 1) + func;
    if (!known.has(key)) {
      known.set(key, grower.add(above, func));
      made.push(above);
      funcs.push(func);
    }
    return known.get(key);
  };
  const isOnPath = (node, func) => {
    for (let up = node; up !== ALL; up = made[up]) if (funcs[up] === func) return true;
    return false;
  };
  const sides = tree.base ? ["head", "base"] : ["head"];
  const hasOwn = (node) => sides.some((side) => tree[side].self[node] > 0 || tree[side].hidden[node] > 0);

  for (let node = 1; node < tree.count; node++) {
    const [above, func] = [at[tree.prefix[node]], tree.func[node]];
    const recurs = isOnPath(above, func);
    at[node] = recurs ? above : child(above, func);
    const own = !recurs || funcs[above] === func ? at[node] : hasOwn(node) ? child(above, func) : -1;
    if (own >= 0) {
      grower.book(own, "self", tree.head.self[node], tree.base?.self[node] ?? 0);
      grower.book(own, "hidden", tree.head.hidden[node], tree.base?.hidden[node] ?? 0);
    }
    // A total is what is booked here and in all bars above: its own time, and that of calls which were left out.
    for (const [target, head, base] of [[own, tree.head.self[node], tree.base?.self[node] ?? 0], [at[node], rest.head[node], rest.base?.[node] ?? 0]]) {
      if (target < 0 || (!head && !base)) continue;
      for (let up = target; up !== ALL; up = made[up]) grower.book(up, "total", head, base);
    }
  }
  const collapsed = grower.finish();
  for (const side of sides) collapsed[side].total[ALL] = tree[side].total[ALL];
  return collapsed;
}

// The time in a node's total that is neither its own nor in its callees: of lighter calls that the answer leaves out.
function restOf(tree) {
  const of = (side) => {
    const rest = side.total.map((total, node) => total - side.self[node]);
    for (let node = 1; node < tree.count; node++) rest[tree.prefix[node]] -= side.total[node];
    return rest.map((ms) => (ms > 1e-9 ? ms : 0));
  };
  return { head: of(tree.head), base: tree.base && of(tree.base) };
}
