// The details of one node: its full name, where it is defined, and its numbers.
import { ALL } from "./tree.js";
import { make } from "./dom.js";
import { isNoise } from "./noise.js";
import { addressOf, asChange, asShare, asTime, counted, nameOf, placeOf, visible } from "./words.js";

// `isSpoken`: screen readers announce it, after a move by keyboard. A mouse moves over too many nodes.
export function showDetails(host, tree, node, { isSpoken = false, totalWord = "Total", onSandwich = null, linkOf = null } = {}) {
  host.setAttribute("aria-live", isSpoken ? "polite" : "off");
  host.classList.toggle("is-all", node === ALL);
  host.replaceChildren(...(node === ALL ? describeAll(tree) : describeNode(tree, node, { totalWord, onSandwich, linkOf })));
}

function describeAll(tree) {
  const figures = [figure(tree.base ? "After" : "Per view", asTime(tree.head.total[ALL]))];
  if (tree.base) figures.push(figure("Before", asTime(tree.base.total[ALL])), changeOf(tree, ALL));
  return [make("p", { className: "which" }, make("b", {}, "All calls")), make("dl", {}, ...figures)];
}

function describeNode(tree, node, { totalWord, onSandwich, linkOf }) {
  const func = tree.funcs[tree.func[node]];
  const whole = tree.head.total[ALL];
  const { self, total, hidden } = tree.head;
  const figures = [figure(totalWord, asTime(total[node]), asShare(total[node] / whole))];
  if (!tree.isTurned) figures.push(figure("Self", asTime(self[node]), asShare(self[node] / whole)));
  if (!tree.isTurned && hidden[node] > 0) figures.push(figure("Hidden", asTime(hidden[node])));
  if (tree.base) figures.push(figure("Before", asTime(tree.base.total[node])), changeOf(tree, node));
  const above = tree.prefix[node];
  const facts = [func.category, func.package && `package ${visible(func.package)}`].filter(Boolean).join(" · ");
  const who = make("p", { className: "which" }, makeName(func, linkOf), " ",
    make("bdi", { className: "place muted", title: visible(addressOf(func) ?? "") }, placeOf(func)),
    facts ? make("span", { className: "muted facts" }, ` ${facts}`) : null,
    above > ALL ? make("span", { className: "unseen" }, `, called by ${nameOf(tree.funcs[tree.func[above]])}`) : null);
  const button = onSandwich && make("button", { type: "button", onclick: () => onSandwich(tree.func[node]) }, "Callers and callees");
  return [who, make("dl", {}, ...figures), button].filter(Boolean);
}

// `linkOf` returns the address of a function's page.
export function makeName(func, linkOf) {
  const name = make("bdi", { className: "name" }, nameOf(func));
  return linkOf ? make("a", { href: linkOf(func) }, name) : name;
}

function figure(word, value, more) {
  return make("div", {}, make("dt", {}, word), make("dd", {}, value, more ? make("span", { className: "muted" }, ` ${more}`) : null));
}

function changeOf(tree, node) {
  const change = tree.head.total[node] - tree.base.total[node];
  const isNew = !(tree.base.total[node] > 0);
  const isGone = !(tree.head.total[node] > 0);
  const made = figure("Change", asChange(change), isNew ? "new" : isGone ? "gone" : (change > 0 ? "+" : "") + asShare(change / tree.base.total[node]));
  made.classList.add(change > 0 ? "more" : "less");
  if (isNoise(tree, node)) made.lastChild.append(make("span", { className: "muted" }, ", could be noise"));
  return made;
}

// Returns one line about the tree: its time, its page views, its size.
export function describeTree(tree, answer, minViews) {
  const { head, base } = answer;
  const sides = base
    ? [`${counted(base.views, "page view")} before`, `${counted(head.views, "page view")} after`]
    : [counted(head.views, "page view"), counted(head.traces, "trace")];
  const hidden = head.time_ms.hidden / (head.views || 1);
  const parts = [
    base
      ? `${asTime(tree.base.total[ALL])} to ${asTime(tree.head.total[ALL])} script time per view`
      : `${asTime(tree.head.total[ALL])} script time per view`,
    ...(hidden > 0 ? [`plus ${asTime(hidden)} hidden`] : []),
    ...sides,
    counted(tree.count - 1, "call node"),
  ];
  if (tree.prunedNodes) parts.push(`${counted(tree.prunedNodes, "lighter call")} left out, their time counts for their callers`);
  if (base && Math.min(head.views, base.views) < minViews) parts.push(`below ${minViews} page views on a side, any change could be noise`);
  if (!base && head.views < minViews) parts.push(`below ${minViews} page views: too few for general conclusions`);
  return parts.join(" · ");
}
