// Where a node is, as text for an address: the ids of its functions from the root, each in base 36. A path means the same
// in every slice, so it survives a reload, another release, and being sent to somebody. Pure.
import { ALL, listCallees } from "./tree.js";

const MAX_PATH = 1_500; // characters: proxies and servers take addresses of some thousands; a deeper node is its ancestor
const DIGITS = /^\d{1,15}$/; // an id is a number, or a name that display rules made

const write = (id) => (DIGITS.test(id) ? Number(id).toString(36) : `~${encodeURIComponent(id).replaceAll(".", "%2E")}`);

// Returns the path of a node; empty for all script time. Below `above`, it is relative, and begins with a dot.
export function writePath(tree, node, above = ALL) {
  const ids = [];
  let at = node;
  for (; at !== ALL && at !== above; at = tree.prefix[at]) ids.push(write(tree.funcs[tree.func[at]].id));
  if (at !== above) return writePath(tree, node); // it is elsewhere
  ids.reverse();
  let text = above === ALL ? "" : ".";
  for (const [n, id] of ids.entries()) {
    const longer = n ? `${text}.${id}` : text + id;
    if (longer.length > MAX_PATH) break;
    text = longer;
  }
  return text === "." ? "" : text;
}

// Returns the node of a path, or its nearest ancestor that exists: {node, isWhole, depth}.
export function findPath(tree, text, above = ALL) {
  const isRelative = text.startsWith(".");
  const ids = text.split(".").filter(Boolean);
  const { start, nodes } = listCallees(tree);
  let node = isRelative ? above : ALL;
  for (const [depth, id] of ids.entries()) {
    let found = -1;
    for (let index = start[node]; index < start[node + 1] && found < 0; index++) {
      const func = tree.funcs[tree.func[nodes[index]]];
      if (write(func.id) === id) found = nodes[index];
    }
    if (found < 0) return { node, isWhole: false, depth };
    node = found;
  }
  return { node, isWhole: true, depth: ids.length };
}
