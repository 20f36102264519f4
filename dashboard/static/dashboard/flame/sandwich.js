// The sandwich: one function between a graph of its callers and a graph of its callees, with a list of functions.
import { ALL, makeMatcher, sumFuncs, treeOfCallees, treeOfCallers } from "./tree.js";
import { colourTree } from "./colours.js";
import { makeGraph } from "./graph.js";
import { makeName, showDetails } from "./details.js";
import { make } from "./dom.js";
import { asChange, asShare, asTime, nameOf, placeOf } from "./words.js";

const LISTED = 200;

// Calls `choose(func)` when a function is selected. `linkOf` returns the address of its page.
export function makeSandwich(host, { choose, linkOf = null }) {
  const list = make("ul", { className: "func-list", aria: { label: "Functions" } });
  const title = make("h3", {});
  const callers = makeHalf("Callers", true);
  const callees = makeHalf("Callees", false);
  const details = make("div", { className: "flame-details" });
  host.replaceChildren(make("div", { className: "sandwich" }, list,
    make("div", { className: "halves" }, title, callers.part, callees.part, details)));
  let graphs = [];
  let state = null;
  let drawn = ""; // the function and colours of the last drawing

  function makeHalf(label, isFlame) {
    const canvas = make("canvas", { tabIndex: 0, role: "application", ariaRoleDescription: "flame graph", aria: { label } });
    const scroll = make("div", { className: "flame-scroll" }, make("div", { className: "flame-height" }, canvas));
    const empty = make("p", { className: "muted", hidden: true });
    return { canvas, scroll, empty, isFlame, part: make("section", { aria: { label } }, make("h4", {}, label), scroll, empty) };
  }

  function show(next) {
    const isNewTree = next.tree !== state?.tree;
    state = { ...next, sums: isNewTree ? sumFuncs(next.tree) : state.sums };
    const sum = state.sums.find((each) => each.func === state.func) ?? state.sums[0];
    state.func = sum.func;
    showList();
    const key = [sum.func, state.by, state.side].join();
    if (isNewTree || key !== drawn) showFunc(sum);
    drawn = key;
  }

  function showList() {
    const { tree, sums, text } = state;
    const matches = makeMatcher(text);
    const fitting = matches ? sums.filter(({ func }) => matches(tree.funcs[func])) : sums;
    const rows = fitting.slice(0, LISTED).map((sum) => {
      const func = tree.funcs[sum.func];
      const button = make("button", { type: "button", className: "quiet", title: `${nameOf(func)} ${placeOf(func)}`, onclick: () => choose(sum.func) },
        make("bdi", { className: "name" }, nameOf(func)),
        make("span", { className: "figure" }, tree.base ? asChange(sum.total - sum.baseTotal) : asTime(sum.total)));
      if (sum.func === state.func) button.setAttribute("aria-current", "true");
      return make("li", {}, button);
    });
    const rest = fitting.length - rows.length;
    if (rest > 0) rows.push(make("li", { className: "muted" }, `${rest} more: search to find them`));
    if (!fitting.length) rows.push(make("li", { className: "muted" }, "No function, file or package has this name."));
    list.replaceChildren(...rows);
  }

  function showFunc(sum) {
    const { tree, by, words } = state;
    const func = tree.funcs[sum.func];
    const whole = tree.head.total[ALL];
    const figures = [`${asTime(sum.total)} total (${asShare(sum.total / whole)})`, `${asTime(sum.self)} self`];
    if (sum.hidden > 0) figures.push(`${asTime(sum.hidden)} hidden`);
    if (tree.base) figures.push(`${asChange(sum.total - sum.baseTotal)} from before`);
    title.replaceChildren(makeName(func, linkOf), " ",
      make("bdi", { className: "place muted" }, placeOf(func)),
      make("span", { className: "muted under" }, `${figures.join(" · ")}, per view, all calls`));
    for (const graph of graphs) graph.stop();
    details.replaceChildren();
    graphs = [[callers, treeOfCallers(tree, sum.func)], [callees, treeOfCallees(tree, sum.func)]].map(([half, part]) =>
      drawHalf(half, part, by, words));
    const above = graphs[0].scene.tree.count > 2;
    callers.empty.textContent = above ? "" : "No caller: it is at the root of the stack, or its callers were not recorded.";
    callers.empty.hidden = above;
    const below = graphs[1].scene.tree.count > 2;
    callees.empty.textContent = below ? "" : "No visible callees: all its time is self time.";
    callees.empty.hidden = below;
  }

  function drawHalf(half, part, by, words) {
    const fresh = half.canvas.cloneNode();
    half.canvas.replaceWith(fresh);
    half.canvas = fresh;
    const graph = makeGraph({
      canvas: fresh,
      isFlame: half.isFlame,
      isPart: true,
      onPoint: (node, isKeyboard) => showDetails(details, part, node, {
        isSpoken: isKeyboard, totalWord: half.isFlame ? "Its time, on this path" : "Total", onSandwich: choose, linkOf,
      }),
      onSandwich: choose,
    });
    graph.show(part, colourTree(part, by, words), part[state.side] ? state.side : "head");
    return graph;
  }

  return { show };
}
