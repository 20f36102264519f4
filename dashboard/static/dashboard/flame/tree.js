// The call tree as columns, and trees derived from it: turned over, or of the callers and callees of one function.
//
// Node 0 is all script time; callers come before callees. Times are ms per page view; `base` has the other side of a
// comparison, or is null. Nothing here recurses, because stacks may be hundreds deep. No document, no network.

export const ALL = 0;
const NO_FUNC = -1;
const MAX_NODES = 40_000; // of a derived tree: a turned tree can have a hundred times as many nodes

// Returns the tree of an answer of `flamegraph`.
export function readTree(answer) {
  const { prefix, function: func } = answer.nodes;
  const tree = emptyTree(prefix.length + 1, readFuncs(answer.functions), answer.base !== null);
  tree.prefix[ALL] = -1;
  tree.func[ALL] = NO_FUNC;
  for (let node = 0; node < prefix.length; node++) {
    tree.prefix[node + 1] = prefix[node] + 1;
    tree.func[node + 1] = func[node];
  }
  readSide(tree.head, answer.head);
  if (tree.base) readSide(tree.base, answer.base);
  tree.views = answer.head.views;
  tree.baseViews = answer.base?.views ?? 0;
  tree.prunedNodes = answer.pruned_nodes;
  return tree;
}

function emptyTree(count, funcs, isCompared) {
  const side = () => ({ self: new Float64Array(count), total: new Float64Array(count), hidden: new Float64Array(count) });
  return {
    count,
    prefix: new Int32Array(count),
    func: new Int32Array(count),
    head: side(),
    base: isCompared ? side() : null,
    funcs,
    prunedNodes: 0,
    isTurned: false, // from callees to callers: a total is the time that came by this way
    judgedBy: "total", // the measure of a function by which a change may be noise
  };
}

function readSide(side, answer) {
  const views = answer.views || 1;
  const { self_ms: self, total_ms: total, hidden_ms: hidden } = answer;
  for (let node = 0; node < self.length; node++) {
    side.self[node + 1] = self[node] / views;
    side.total[node + 1] = total[node] / views;
    side.hidden[node + 1] = hidden[node] / views;
  }
  side.total[ALL] = answer.time_ms.js / views;
}

export function readFuncs(columns) {
  return columns.id.map((id, index) => ({
    id,
    label: columns.label[index],
    name: columns.name[index],
    uri: columns.uri[index],
    line: columns.line[index],
    column: columns.column[index],
    original: readOriginal(columns, index),
    category: columns.category[index],
    package: columns.package[index],
    colour: columns.colour?.[index] ?? null, // results that were prepared before there were display rules have none
    isGroup: columns.is_group?.[index] ?? false,
  }));
}

// Where a function stands in its source, as far as a source map tells it, else null.
function readOriginal(columns, index) {
  const source = columns.original_source[index];
  if (source === null) return null;
  return { source, line: columns.original_line[index], column: columns.original_column[index] };
}

// The callees of each node: those of `node` are nodes[start[node]] up to start[node + 1], the heaviest first.
export function listCallees(tree, side = "head") {
  const { count, prefix } = tree;
  const weight = tree[side].total;
  const start = new Int32Array(count + 1);
  for (let node = 1; node < count; node++) start[prefix[node] + 1]++;
  for (let node = 0; node < count; node++) start[node + 1] += start[node];
  const next = start.slice();
  const nodes = new Int32Array(Math.max(count - 1, 0));
  const byWeight = Int32Array.from({ length: Math.max(count - 1, 0) }, (_, index) => index + 1);
  byWeight.sort((a, b) => weight[b] - weight[a] || a - b);
  for (const node of byWeight) nodes[next[prefix[node]]++] = node;
  return { start, nodes };
}

// What each function takes in all, counted once however often it recurs: [{func, self, total, …}]. The heaviest comes
// first, and of a comparison the one that changed most.
export function sumFuncs(tree) {
  const sums = tree.funcs.map((_, func) => ({ func, self: 0, total: 0, hidden: 0, baseTotal: 0 }));
  const topmost = findTopmost(tree);
  for (let node = 1; node < tree.count; node++) {
    const sum = sums[tree.func[node]];
    sum.self += tree.head.self[node];
    sum.hidden += tree.head.hidden[node];
    if (!topmost[node]) continue;
    sum.total += tree.head.total[node];
    if (tree.base) sum.baseTotal += tree.base.total[node];
  }
  const rank = tree.base ? (sum) => Math.abs(sum.total - sum.baseTotal) : (sum) => sum.total;
  return sums.sort((a, b) => rank(b) - rank(a) || b.total - a.total || a.func - b.func);
}

// Tells of each node whether its function is on none of its callers.
function findTopmost(tree) {
  const { start, nodes } = listCallees(tree);
  const topmost = new Uint8Array(tree.count);
  const onPath = new Map();
  const pending = [ALL];
  while (pending.length) {
    const entry = pending.pop();
    if (entry < 0) {
      onPath.set(tree.func[~entry], onPath.get(tree.func[~entry]) - 1);
      continue;
    }
    const above = onPath.get(tree.func[entry]) ?? 0;
    topmost[entry] = above ? 0 : 1;
    onPath.set(tree.func[entry], above + 1);
    pending.push(~entry);
    for (let index = start[entry]; index < start[entry + 1]; index++) pending.push(nodes[index]);
  }
  return topmost;
}

// Tells of a function whether a text is in its name, its file's or its package's; one with a slash, in its address.
export function makeMatcher(text) {
  const wanted = text.trim().toLowerCase();
  if (!wanted) return null;
  return ({ label, uri, original, package: owner }) => {
    const address = original?.source ?? uri ?? "";
    const place = wanted.includes("/") ? address : address.slice(address.lastIndexOf("/") + 1);
    return `${label}\n${place}\n${owner ?? ""}`.toLowerCase().includes(wanted);
  };
}

// Finds a text. `nodes` marks what matches, `ms` is their time, each sample once.
export function searchTree(tree, text, categories = []) {
  const matches = makeMatcher(text);
  if (!matches && !categories.length) return null;
  const isFound = tree.funcs.map((func) => (!matches || matches(func)) && (!categories.length || categories.includes(func.category)));
  const nodes = new Uint8Array(tree.count);
  const isBelow = new Uint8Array(tree.count);
  let ms = 0;
  let count = 0;
  for (let node = 1; node < tree.count; node++) {
    const above = tree.prefix[node];
    isBelow[node] = isBelow[above] || nodes[above];
    if (!isFound[tree.func[node]]) continue;
    nodes[node] = 1;
    count++;
    if (!isBelow[node]) ms += tree.head.total[node];
  }
  return { nodes, count, ms, funcs: isFound.reduce((sum, found) => sum + found, 0) };
}

// The tree turned over: what took time itself, and below it who called it. Its totals are self times.
export function turnOver(tree) {
  const seeds = new Map();
  for (let node = 1; node < tree.count; node++) {
    if (!tree.head.self[node] && !tree.base?.self[node]) continue;
    addTo(seeds, tree.func[node], [node, tree.head.self[node], tree.base?.self[node] ?? 0, tree.head.hidden[node]]);
  }
  return Object.assign(growUp(tree, seeds), { judgedBy: "self" });
}

// Who called a function, and below them who called these; the time is the function's total.
export function treeOfCallers(tree, func) {
  const paths = outermost(tree, func).map((node) => [node, tree.head.total[node], tree.base?.total[node] ?? 0, 0]);
  return growUp(tree, new Map([[func, paths]]));
}

// What a function called, in all its calls together.
export function treeOfCallees(tree, func) {
  const { start, nodes } = listCallees(tree);
  const grower = makeGrower(tree);
  const pending = [[ALL, func, outermost(tree, func)]];
  for (let at = 0; at < pending.length && grower.count < MAX_NODES; at++) {
    const [above, which, group] = pending[at];
    const own = grower.add(above, which);
    const below = new Map();
    for (const node of group) {
      grower.book(own, "self", tree.head.self[node], tree.base?.self[node] ?? 0);
      grower.book(own, "total", tree.head.total[node], tree.base?.total[node] ?? 0);
      grower.book(own, "hidden", tree.head.hidden[node], tree.base?.hidden[node] ?? 0);
      for (let index = start[node]; index < start[node + 1]; index++) addTo(below, tree.func[nodes[index]], nodes[index]);
    }
    for (const [callee, calls] of below) pending.push([own, callee, calls]);
  }
  return grower.finish();
}

function outermost(tree, func) {
  const topmost = findTopmost(tree);
  const found = [];
  for (let node = 1; node < tree.count; node++) if (tree.func[node] === func && topmost[node]) found.push(node);
  return found;
}

// Grows a tree from paths towards their roots; a path is [node, head ms, base ms, hidden ms].
function growUp(tree, seeds) {
  const grower = makeGrower(tree);
  const pending = [...seeds].map(([func, paths]) => [ALL, func, paths]);
  for (let at = 0; at < pending.length && grower.count < MAX_NODES; at++) {
    const [above, func, paths] = pending[at];
    const own = grower.add(above, func);
    const callers = new Map();
    for (const path of paths) {
      const [node, head, base, hidden] = path;
      const caller = tree.prefix[node];
      grower.book(own, "total", head, base);
      grower.book(own, "hidden", hidden, 0);
      if (caller === ALL) grower.book(own, "self", head, base);
      else addTo(callers, tree.func[caller], [caller, head, base, hidden]);
    }
    for (const [caller, calls] of callers) pending.push([own, caller, calls]);
  }
  return Object.assign(grower.finish(), { isTurned: true });
}

function addTo(groups, key, value) {
  const group = groups.get(key);
  if (group) group.push(value);
  else groups.set(key, [value]);
}

// Grows a tree over the functions of another: `add` returns a new node, `book` adds to a figure of a node.
export function makeGrower(tree) {
  const columns = { prefix: [-1], func: [NO_FUNC] };
  const sides = tree.base ? ["head", "base"] : ["head"];
  for (const side of sides) columns[side] = { self: [0], total: [0], hidden: [0] };
  return {
    get count() { return columns.func.length; },
    add(above, func) {
      columns.prefix.push(above);
      columns.func.push(func);
      for (const side of sides) for (const name of ["self", "total", "hidden"]) columns[side][name].push(0);
      return columns.func.length - 1;
    },
    book(node, name, head, base) {
      columns.head[name][node] += head;
      if (tree.base) columns.base[name][node] += base;
      if (name === "total" && columns.prefix[node] === ALL) {
        columns.head.total[ALL] += head;
        if (tree.base) columns.base.total[ALL] += base;
      }
    },
    finish() {
      const made = emptyTree(columns.func.length, tree.funcs, tree.base !== null);
      made.prefix.set(columns.prefix);
      made.func.set(columns.func);
      for (const side of sides) for (const name of ["self", "total", "hidden"]) made[side][name].set(columns[side][name]);
      return Object.assign(made, { views: tree.views, baseViews: tree.baseViews, prunedNodes: tree.prunedNodes });
    },
  };
}
