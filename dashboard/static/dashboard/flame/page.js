// The page "Flame graph": fetches the tree, and shows it as a graph, a table or a sandwich.
import { ALL, readTree, searchTree, turnOver } from "./tree.js";
import { collapseRecursion } from "./recursion.js";
import { findPath, writePath } from "./address.js";
import { chooseColour, colourTree } from "./colours.js";
import { copyText, openMenu, stackText } from "./frame-menu.js";
import { keep, keepSearch, readKept } from "./kept.js";
import { makeGraph } from "./graph.js";
import { makeTable, keepCallers } from "./table.js";
import { makeSandwich } from "./sandwich.js";
import { describeTree, showDetails } from "./details.js";
import { fetchSure, markSure } from "./noise.js";
import { fetchTree } from "./loading.js";
import { showEmpty, showProblem } from "./instead.js";
import { make, makeSwatch } from "./dom.js";
import { makeTools, recallGrowth, rememberGrowth } from "./tools.js";
import { asShare, counted, nameOf, visible } from "./words.js";

const SLOW_MS = 1_500;
const FIND_AFTER_MS = 120;
const CHOSEN_AFTER_MS = 200; // browsers allow some hundred changes of the address in half a minute
const LEGEND_LEAST = 0.001; // of self time: lighter entries are left out of the legend

const host = document.getElementById("flame");
const bar = document.getElementById("flame-tools");
const tools = makeTools(bar, onTool);
const facts = document.getElementById("flame-facts");
const find = bar.querySelector("[name=find]");
const panels = { graph: "show-graph", table: "show-table", sandwich: "show-sandwich" };
const words = [...document.querySelectorAll("#flame-categories li")].map((entry) => [entry.dataset.key, entry.textContent]);

let trees = null; // {down, up} by whether recursion is collapsed
let answer = null;
let graph = null;
let table = null;
let sandwich = null;
let chosen = null; // index of the sandwich's function
let isShown = false; // from then on, a change of panel or function is a step in the browser's history
let colour = ""; // as the reader chose it; empty: as the tree needs it
let isAsked = true; // by the address: what is shown is then zoomed to it
let place = { focus: "", selected: "" }; // paths of the call that fills the width, and of the one chosen
const categories = new URLSearchParams(location.search).getAll("category").filter(Boolean);
const judged = new Set(); // measures with a request

start();

async function start() {
  if (recallGrowth() === "flame") tools.set("grow", "flame");
  find.value = new URLSearchParams(location.search).get("q") ?? "";
  await load(() => fetchTree(host.dataset.url));
}

async function load(fetching) {
  showOnly(null);
  const waiting = document.getElementById("flame-wait");
  waiting.hidden = false;
  facts.textContent = "Loading call tree…";
  const deadline = setTimeout(() => {
    facts.textContent = "Adding up many call trees takes some seconds. A single page or release is faster.";
  }, SLOW_MS);
  try {
    answer = await fetching(() => clearTimeout(deadline));
  } catch (error) {
    return showProblem(error, load);
  } finally {
    clearTimeout(deadline);
    waiting.hidden = true;
  }
  trees = { "": { down: readTree(answer), up: null } };
  tellFacts();
  const whole = trees[""].down;
  if (whole.count < 2 || !answer.nodes.prefix.length) return showEmpty(answer.head.views);
  bar.hidden = false;
  readAddress();
  if (chosen === -1) tellFacts("The function is in no call shown here: it did not run, or its calls are too light.");
  show();
  isShown = true;
}

function tellFacts(note = "") {
  const text = describeTree(trees[""].down, answer, Number(host.dataset.minViews));
  facts.textContent = note ? `${note} ${text}` : text;
}

// Sets everything as the address says it.
function readAddress() {
  const kept = readKept();
  chosen = readChosen();
  if (!tools.set("show", kept.show)) tools.set("show", new URLSearchParams(location.search).has("plain") ? "table" : "graph");
  if (!tools.set("order", kept.order)) tools.set("order", "down");
  if (!tools.set("width", kept.width)) tools.set("width", "head");
  tools.set("collapse", kept.collapse === "1");
  const { down } = trees[""];
  const automatic = down.base ? "change" : chooseColour(down, words);
  colour = tools.set("colour", kept.colour) ? kept.colour : "";
  if (!colour) tools.set("colour", automatic);
  place = { focus: kept.focus, selected: kept.selected };
  isAsked = true;
}

// Returns the index of the function in the address: -1 if it has no calls here, null if the address has none.
function readChosen() {
  const asked = new URLSearchParams(location.search).get("func");
  return asked === null ? null : trees[""].down.funcs.findIndex((func) => func.id === asked);
}

addEventListener("popstate", () => {
  if (!isShown) return;
  clearTimeout(choosing);
  find.value = new URLSearchParams(location.search).get("q") ?? "";
  document.dispatchEvent(new CustomEvent("address-kept", { detail: { name: "q", value: find.value } }));
  readAddress();
  show();
});

// --- controls ---

function onTool(name) {
  if (name === "grow") {
    rememberGrowth(tools.value("grow"));
    graph.setGrowing(tools.value("grow") === "flame");
    return;
  }
  if (name === "colour") {
    colour = tools.value("colour");
    keepInAddress();
    recolour();
    return;
  }
  if (name === "order") place = { focus: "", selected: "" }; // a turned tree has other paths
  if (name === "collapse") place = { focus: withoutRepeats(place.focus), selected: "" };
  show();
}

// The path in a tree without recursion.
function withoutRepeats(path) {
  return tools.value("collapse") ? [...new Set(path.split("."))].join(".") : path;
}

let finding = 0;
find.addEventListener("input", () => {
  clearTimeout(finding);
  finding = setTimeout(search, FIND_AFTER_MS);
});
find.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    find.value = "";
    search();
    if (tools.value("show") === "graph") document.getElementById("flame-canvas").focus();
  } else if (event.key === "Enter" && tools.value("show") === "graph") {
    event.preventDefault();
    clearTimeout(finding);
    search();
    graph.toNextMatch();
  }
});
document.getElementById("flame-out").addEventListener("click", () => graph.zoomOut());

// --- showing ---

function currentTree() {
  const isSandwich = tools.value("show") === "sandwich"; // it counts a function once, however often it recurs
  const which = isSandwich ? "" : tools.value("collapse");
  const pair = (trees[which] ??= { down: collapseRecursion(trees[""].down), up: null });
  return tools.value("order") !== "up" || isSandwich ? pair.down : (pair.up ??= turnOver(pair.down));
}

// Returns the address of a function's page, in this slice.
function linkOf(func) {
  return `${host.dataset.functionsUrl}${encodeURIComponent(func.id)}/${host.dataset.query}`;
}

function side() {
  return tools.value("width") ?? "head";
}

// Fetches once per measure which functions have significant changes. Without an answer, none has.
async function judge(measure) {
  const url = host.dataset.compareUrl;
  const { funcs, base } = trees[""].down;
  if (!base || !url || funcs[0]?.sure?.[measure] !== undefined || judged.has(measure)) return;
  judged.add(measure);
  markSure(funcs, measure, null, { isAwaited: true });
  const found = await fetchSure(url, measure);
  markSure(funcs, measure, found);
  recolour();
  show();
}

function showOnly(name) {
  for (const [each, id] of Object.entries(panels)) document.getElementById(id).hidden = each !== name;
  tools.showFor(name);
}

function show() {
  const name = tools.value("show");
  showOnly(name);
  keepInAddress();
  const tree = currentTree();
  judge(tree.judgedBy);
  if (name === "graph") showGraph(tree);
  else if (name === "table") {
    table ??= makeTable(document.getElementById(panels.table), { onSandwich: openSandwich });
    search();
  } else {
    sandwich ??= makeSandwich(document.getElementById(panels.sandwich), { choose: openSandwich, linkOf });
    search();
  }
}

function showGraph(tree) {
  graph ??= makeGraph({
    canvas: document.getElementById("flame-canvas"),
    isFlame: tools.value("grow") === "flame",
    onPoint: (node, isKeyboard) => details(node, isKeyboard),
    onZoom: (isNarrowed) => { document.getElementById("flame-out").hidden = !isNarrowed; },
    onSandwich: openSandwich,
    onStep: (isBack) => keepPlace({ isStep: !isBack, isZoom: !isBack && graph.zoomed !== ALL }),
    onChoose: () => {
      clearTimeout(choosing);
      choosing = setTimeout(keepPlace, CHOSEN_AFTER_MS);
    },
    goBack: () => {
      if (history.state?.isZoom) history.back();
      return history.state?.isZoom;
    },
    onMenu: showMenu,
  });
  const isNew = graph.scene.tree !== tree || graph.scene.side !== side();
  if (isNew) graph.show(tree, recolour(tree), side());
  if (isNew || isAsked) restore(tree);
  else document.getElementById("flame-out").hidden = graph.scene.view.to - graph.scene.view.from >= 1;
  isAsked = false;
  details(graph.focus, false);
  search();
}

// Zooms to where the address says. Another slice may not have this call.
function restore(tree) {
  const zoomed = findPath(tree, place.focus);
  const selected = place.selected && zoomed.isWhole ? findPath(tree, place.selected, zoomed.node) : zoomed;
  graph.restore(zoomed.node, selected.node);
  if (zoomed.isWhole && selected.isWhole) return;
  tellFacts(zoomed.depth ? "The call in the address is not here: this is its nearest caller." : "The call in the address is not here.");
  keepPlace();
}

let choosing = 0;
function keepPlace(step = {}) {
  clearTimeout(choosing);
  const { tree } = graph.scene;
  if (step.isStep) tellFacts();
  place = { focus: writePath(tree, graph.zoomed), selected: graph.focus === graph.zoomed ? "" : writePath(tree, graph.focus, graph.zoomed) };
  keepInAddress(step);
}

function showMenu(node, x, y) {
  const { tree } = graph.scene;
  graph.focusOn(node);
  const func = tree.funcs[tree.func[node]];
  const collapse = { word: "Collapse recursion", isChecked: tools.value("collapse") === "1", act: () => {
    tools.set("collapse", !tools.value("collapse"));
    onTool("collapse");
  } };
  const copy = (what, text) => async () => { say((await copyText(text)) ? `${what} copied.` : `${what} could not be copied.`); };
  const items = node === ALL ? [collapse] : [
    { word: "Zoom in", key: "Enter", act: () => graph.zoomTo(node) },
    { word: "Callers and callees", key: "s", act: () => openSandwich(tree.func[node]) },
    { word: "Open function", href: linkOf(func) },
    { word: "Copy name", act: copy("Name", nameOf(func)) },
    { word: "Copy stack", act: copy("Stack", stackText(tree, node)) },
    collapse,
  ];
  openMenu({ label: node === ALL ? "All calls" : nameOf(func), items, x, y, back: document.getElementById("flame-canvas") });
}

function say(sentence) {
  document.getElementById("open-status").textContent = sentence;
}

function details(node, isSpoken) {
  const totalWord = tools.value("order") === "up" ? "Self time, on this path" : "Total";
  showDetails(document.getElementById("flame-details"), currentTree(), node, { isSpoken, totalWord, onSandwich: openSandwich, linkOf });
}

function recolour(tree = currentTree()) {
  const made = colourTree(tree, tools.value("colour"), words);
  if (tools.value("show") === "sandwich") {
    search();
    return made;
  }
  const entries = made.entries.filter((entry) => entry.word && (entry.share === null || entry.share >= LEGEND_LEAST));
  document.getElementById("flame-legend").replaceChildren(...entries.map(({ property, word, share }) =>
    make("li", {}, makeSwatch(property), make("bdi", {}, visible(word)), share === null ? null : make("span", { className: "share" }, ` ${asShare(share)}`))));
  if (graph?.scene.tree === tree) graph.setColours(made);
  return made;
}

function search() {
  const tree = currentTree();
  const found = searchTree(tree, find.value, categories);
  keepSearch(find.value.trim());
  const output = document.getElementById("flame-found");
  const whole = tree.head.total[0];
  output.textContent = found ? `${counted(found.funcs, "function")}, ${asShare(found.ms / whole)} of script time` : "";
  const name = tools.value("show");
  if (name === "graph") graph.setFound(found?.nodes ?? null);
  else if (name === "table") table.show(tree, keepCallers(tree, found), side());
  else sandwich.show({ tree, func: chosen ?? -1, text: find.value, by: tools.value("colour"), words, side: side() });
}

function openSandwich(func) {
  chosen = func;
  tools.set("show", "sandwich");
  show();
}

// Keeps what is shown in the address, so that it can be shared.
function keepInAddress(step = {}) {
  const here = readKept();
  const name = tools.value("show");
  const wanted = {
    show: name === "graph" ? "" : name,
    func: name === "sandwich" && chosen !== null && chosen >= 0 ? trees[""].down.funcs[chosen].id : "",
    order: tools.value("order") === "up" ? "up" : "",
    width: side() === "head" ? "" : side(),
    collapse: tools.value("collapse"),
    colour,
    ...place,
  };
  const isStep = isShown && (here.show !== wanted.show || here.func !== wanted.func);
  keep(wanted, isStep ? { isStep } : step);
}
