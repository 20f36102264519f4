// Whether a function's change between two sides could be noise. The comparison judges it by self time or total, over all
// calls. `func.sure[measure]` is 1 or -1 for a significant rise or fall, and 0 if the change could be noise or a move. It
// is null until the answer is there, and undefined if nothing is known.
import { ALL } from "./tree.js";

// Fetches the significant changes. Returns null if there is no answer: a filter may be too fine for a comparison.
export async function fetchSure(url, measure) {
  const response = await fetch(`${url}&measure=${measure}&only=significant`, { credentials: "same-origin" }).catch(() => null);
  return response?.ok ? response.json() : null;
}

// A new bundle moves functions: a new and a gone function may be the same, unless source maps have both. If source maps
// have only one of them, they must have the same origin. `find_moved` of the page "Compare" has the same rule.
function findMoved(functions) {
  const sides = { new: [], gone: [] };
  for (const found of functions) if (found.line !== null) sides[found.status]?.push(found);
  const mayBe = (found, others) => {
    const origins = others[found.original ? "unmapped" : "mapped"];
    return origins.has(originOf(found.uri)) || (!found.original && others.unmapped.size > 0);
  };
  const [came, went] = [originsOf(sides.new), originsOf(sides.gone)];
  return new Set([...sides.new.filter((found) => mayBe(found, went)), ...sides.gone.filter((found) => mayBe(found, came))]);
}

function originsOf(functions) {
  const of = (isMapped) => new Set(functions.filter((found) => Boolean(found.original) === isMapped).map((found) => originOf(found.uri)));
  return { mapped: of(true), unmapped: of(false) };
}

function originOf(uri) {
  return /^[a-z][a-z0-9+.-]*:\/\/[^/]*/i.exec(uri ?? "")?.[0] ?? null;
}

// Stores an answer with the functions. Until the answer is there (`isAwaited`), changes count as noise.
export function markSure(funcs, measure, answer, { isAwaited = false } = {}) {
  const functions = answer?.functions ?? [];
  const moved = findMoved(functions);
  const rose = new Map(functions.filter((found) => !moved.has(found)).map((found) => [found.id, Math.sign(found.delta_ms_per_view)]));
  for (const func of funcs) {
    func.sure ??= {};
    if (answer) func.sure[measure] = rose.get(func.id) ?? 0;
    else if (isAwaited) func.sure[measure] = null;
    else delete func.sure[measure];
  }
}

// Returns whether a node's change could be noise. It also could be if its function changed the other way.
export function isNoise(tree, node) {
  if (node === ALL || !tree.base) return false;
  const sure = sureOf(tree, node);
  if (sure === undefined) return false;
  const change = tree.head.total[node] - tree.base.total[node];
  return !sure || sure * change < 0;
}

// Returns whether the changes of a tree's functions are "known", "awaited" or "unknown".
export function stateOf(tree) {
  const sure = tree.funcs[0]?.sure?.[tree.judgedBy];
  return sure === undefined ? "unknown" : sure === null ? "awaited" : "known";
}

// In a turned tree, a node's time is that of the function at its root.
function sureOf(tree, node) {
  const judged = tree.isTurned ? (tree.roots ??= findRoots(tree))[node] : node;
  return tree.funcs[tree.func[judged]].sure?.[tree.judgedBy];
}

function findRoots(tree) {
  const roots = new Int32Array(tree.count);
  for (let node = 1; node < tree.count; node++) roots[node] = tree.prefix[node] === ALL ? node : roots[tree.prefix[node]];
  return roots;
}
