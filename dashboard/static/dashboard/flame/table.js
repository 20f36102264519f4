// The call tree as a treegrid: the same data as the graph, for reading, copying and screen readers. Rows are created when
// their caller is opened. Arrow keys move; right opens a row, left closes it or moves to its caller.
import { ALL, listCallees } from "./tree.js";
import { make } from "./dom.js";
import { isNoise } from "./noise.js";
import { addressOf, asChangeIn, asCount, asShare, asTimeIn, chooseUnit, nameOf, placeOf, visible } from "./words.js";

const SHOWN_CALLEES = 50; // per caller; a row with a button shows the others
const MAX_INDENT = 12; // deeper levels have only a number
const OPEN_SHARE = 0.85; // a callee with this share of its caller's time is opened with it

export function makeTable(host, { onSandwich }) {
  let state = null;

  function show(tree, found, side = "head") {
    state = { tree, found, side, callees: listCallees(tree, side), units: unitsOf(tree) };
    const columns = ["Function", ...wordsOf(tree)];
    const head = make("tr", { role: "row" }, ...columns.map((word, n) =>
      make("th", { scope: "col", role: "columnheader", className: n ? "figure" : "" }, word)));
    const body = make("tbody", {});
    const table = make("table", { className: "list functions calls", role: "treegrid", aria: { label: "Call tree" } },
      make("thead", {}, head), body);
    host.replaceChildren(table);
    addCallees(body, null, ALL, 1);
    openHeaviest(body);
    const first = body.querySelector("tr");
    if (first) first.tabIndex = 0;
    table.addEventListener("keydown", onKey);
    table.addEventListener("click", onClick);
    table.addEventListener("focusin", (event) => {
      const row = event.target.closest("tbody tr");
      if (row) focusRow(row, false);
    });
  }

  // In a turned tree, a total is self time of the root function; its callers have no part in it.
  function wordsOf(tree) {
    const compared = tree.base ? ["Before, per view", "Change"] : [];
    if (tree.isTurned) return ["Self per view, on this path", "Share of script time", ...compared];
    return ["Total per view", "Share of script time", ...compared, "Self per view", "Hidden per view"];
  }

  function figuresOf(tree, node) {
    const { self, total, hidden } = tree.head;
    const { units } = state;
    const noise = isNoise(tree, node) ? ", could be noise" : "";
    const changed = () => changeOf(total[node] - tree.base.total[node], units.change, noise);
    const compared = tree.base ? [asTimeIn(tree.base.total[node], units.base), changed()] : [];
    const figures = [asTimeIn(total[node], units.total), asShare(total[node] / tree.head.total[ALL]), ...compared];
    return tree.isTurned ? figures : [...figures, asTimeIn(self[node], units.self), asTimeIn(hidden[node], units.hidden)];
  }

  function openHeaviest(body) {
    let row = body.querySelector("tr");
    let above = state.tree[state.side].total[ALL];
    while (row && row.getAttribute("aria-expanded") === "false") {
      const total = state.tree[state.side].total[row.dataset.node];
      if (total < above * OPEN_SHARE) break;
      open(row);
      above = total;
      row = row.nextElementSibling;
    }
  }

  function calleesOf(node) {
    const { start, nodes } = state.callees;
    const all = [...nodes.subarray(start[node], start[node + 1])];
    const shown = all.filter((callee) => state.tree.head.total[callee] > 0 || state.tree.base?.total[callee] > 0);
    return state.found ? shown.filter((callee) => state.found.keep[callee]) : shown;
  }

  // Adds the rows of a node's callees after `row`, or at the end.
  function addCallees(body, row, node, level, skip = 0) {
    const callees = calleesOf(node);
    const shown = callees.slice(skip, skip + SHOWN_CALLEES);
    const rows = shown.map((callee, n) => makeRow(callee, level, skip + n + 1, callees.length));
    const rest = callees.length - skip - shown.length;
    if (rest > 0) rows.push(makeMore(node, level, skip + shown.length, rest));
    if (row) row.after(...rows);
    else body.append(...rows);
    return rows;
  }

  function makeRow(node, level, place, count) {
    const { tree } = state;
    const func = tree.funcs[tree.func[node]];
    const words = wordsOf(tree);
    const canOpen = calleesOf(node).length > 0;
    const label = make("bdi", { className: "name", title: visible(addressOf(func) ?? "") }, nameOf(func));
    const name = make("th", { scope: "row", role: "rowheader", className: `indent-${Math.min(level, MAX_INDENT)}` },
      make("span", { className: "twist", ariaHidden: "true" }), label, " ", make("bdi", { className: "place muted" }, placeOf(func)));
    const row = make("tr", { role: "row", tabIndex: -1, data: { node, level }, aria: { level, posinset: place, setsize: count } },
      name,
      ...figuresOf(tree, node).map((text, n) =>
        make("td", { role: "gridcell", className: n ? "figure" : "figure strong", data: { label: words[n] } }, text)));
    if (canOpen) row.setAttribute("aria-expanded", "false");
    if (state.found?.nodes[node]) row.classList.add("found");
    return row;
  }

  function makeMore(node, level, skip, rest) {
    const button = make("button", { type: "button", className: "quiet" }, `Show ${asCount(rest)} lighter calls`);
    const row = make("tr", { role: "row", tabIndex: -1, className: "rest", data: { level }, aria: { level } },
      make("td", { role: "gridcell", colSpan: wordsOf(state.tree).length + 1, className: `indent-${Math.min(level, MAX_INDENT)}` }, button));
    button.addEventListener("click", (event) => {
      event.stopPropagation();
      const [first] = addCallees(row.parentElement, row, node, level, skip);
      row.remove();
      focusRow(first);
    });
    return row;
  }

  function open(row) {
    if (row.getAttribute("aria-expanded") !== "false") return;
    row.setAttribute("aria-expanded", "true");
    addCallees(row.parentElement, row, Number(row.dataset.node), Number(row.dataset.level) + 1);
  }

  function close(row) {
    row.setAttribute("aria-expanded", "false");
    const level = Number(row.dataset.level);
    while (row.nextElementSibling && Number(row.nextElementSibling.dataset.level) > level) row.nextElementSibling.remove();
  }

  function callerRow(row) {
    let above = row.previousElementSibling;
    while (above && Number(above.dataset.level) >= Number(row.dataset.level)) above = above.previousElementSibling;
    return above;
  }

  function focusRow(row, moves = true) {
    if (!row) return;
    for (const other of row.parentElement.querySelectorAll('[tabindex="0"]')) other.tabIndex = -1;
    row.tabIndex = 0;
    if (moves) row.focus();
  }

  function onKey(event) {
    const row = event.target.closest("tbody tr");
    if (!row || event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "BUTTON") return;
    const expanded = row.getAttribute("aria-expanded");
    const rows = () => [...row.parentElement.children];
    const acts = {
      ArrowDown: () => focusRow(row.nextElementSibling),
      ArrowUp: () => focusRow(row.previousElementSibling),
      ArrowRight: () => (expanded === "false" ? open(row) : focusRow(expanded ? row.nextElementSibling : null)),
      ArrowLeft: () => (expanded === "true" ? close(row) : focusRow(callerRow(row))),
      Enter: () => toggle(row),
      " ": () => toggle(row),
      Home: () => focusRow(rows()[0]),
      End: () => focusRow(rows().at(-1)),
      s: () => { if (row.dataset.node) onSandwich(state.tree.func[row.dataset.node]); },
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  function toggle(row) {
    if (row.classList.contains("rest")) row.querySelector("button").click();
    else if (row.getAttribute("aria-expanded") === "true") close(row);
    else open(row);
  }

  function onClick(event) {
    const row = event.target.closest("tbody tr");
    if (!row || getSelection()?.toString()) return; // a text is being marked, to be copied
    focusRow(row);
    toggle(row);
  }

  return { show };
}

// Returns the unit of each column, that of its largest value in the whole tree: rows that are opened later keep it.
function unitsOf({ head, base }) {
  const below = (values) => values.slice(ALL + 1);
  const units = { total: chooseUnit(below(head.total)), self: chooseUnit(below(head.self)), hidden: chooseUnit(below(head.hidden)) };
  if (!base) return units;
  const changes = head.total.map((ms, node) => ms - base.total[node]);
  return { ...units, base: chooseUnit(below(base.total)), change: chooseUnit(below(changes)) };
}

// A change, with a word for those who hear it: a minus is easily missed.
function changeOf(ms, unit, noise) {
  const text = asChangeIn(ms, unit);
  const word = /[1-9<]/.test(text) ? (ms > 0 ? " more" : " less") : " no change";
  return make("span", {}, text, make("span", { className: "unseen" }, word), noise);
}

// Returns the nodes that a search leaves in the table: matches and their callers.
export function keepCallers(tree, found) {
  if (!found) return null;
  const keep = found.nodes.slice();
  for (let node = tree.count - 1; node > 0; node--) if (keep[node]) keep[tree.prefix[node]] = 1;
  return { nodes: found.nodes, keep };
}
