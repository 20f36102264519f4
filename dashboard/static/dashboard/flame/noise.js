// Whether a function's change between two sides may be noise, as the comparison tells it: by its self time or its total,
// over all its calls. `func.sure[measure]` is 1 where it rose and -1 where it fell for certain, 0 where that may be
// noise or a mere move, null while the answer is awaited; nothing where nobody knows.
import { ALL } from "./tree.js";

// Asks for the changes that are more than noise. Returns null where there is no answer: a filter may be too fine for it.
export async function fetchSure(url, measure) {
  const response = await fetch(`${url}&measure=${measure}&only=significant`, { credentials: "same-origin" }).catch(() => null);
  return response?.ok ? response.json() : null;
}

// A new bundle moves functions: one that came and one that went may be the same where no source map knows both.
// Where it knows one of them alone, they are of one origin: `find_moved` of the page "Compare" has the same rule.
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

// Writes an answer down with the functions; without one nothing is known, and `awaited` is as good as noise until then.
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

// Tells of a node whether its change may be noise. That of a node whose function changed the other way is not proven.
export function isNoise(tree, node) {
  if (node === ALL || !tree.base) return false;
  const sure = sureOf(tree, node);
  if (sure === undefined) return false;
  const change = tree.head.total[node] - tree.base.total[node];
  return !sure || sure * change < 0;
}

// Tells whether anything is known of a tree's functions, or will be: "known", "awaited" or "unknown".
export function stateOf(tree) {
  const sure = tree.funcs[0]?.sure?.[tree.judgedBy];
  return sure === undefined ? "unknown" : sure === null ? "awaited" : "known";
}

// In a tree that is turned over, a node's time is that of the function at its root.
function sureOf(tree, node) {
  const judged = tree.isTurned ? (tree.roots ??= findRoots(tree))[node] : node;
  return tree.funcs[tree.func[judged]].sure?.[tree.judgedBy];
}

function findRoots(tree) {
  const roots = new Int32Array(tree.count);
  for (let node = 1; node < tree.count; node++) roots[node] = tree.prefix[node] === ALL ? node : roots[tree.prefix[node]];
  return roots;
}
