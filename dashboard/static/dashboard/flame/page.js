// The page "Flame graph": fetches the tree, and shows it as a graph, a table or a sandwich.
import { readTree, searchTree, turnOver } from "./tree.js";
import { colourTree } from "./colours.js";
import { makeGraph } from "./graph.js";
import { makeTable, keepCallers } from "./table.js";
import { makeSandwich } from "./sandwich.js";
import { describeTree, showDetails } from "./details.js";
import { fetchSure, markSure } from "./noise.js";
import { fetchTree, findJob, followJob, prepareTree, Problem } from "./loading.js";
import { make, makeSwatch } from "./dom.js";
import { asShare, counted, visible } from "./words.js";

const REMEMBERED = { grow: ["icicle", "flame"], colour: ["category", "package", "change"] };
const SLOW_MS = 1_500;
const FIND_AFTER_MS = 120;
const LEGEND_LEAST = 0.001; // of self time: lighter entries are left out of the legend

const host = document.getElementById("flame");
const tools = document.getElementById("flame-tools");
const facts = document.getElementById("flame-facts");
const find = tools.querySelector("[name=find]");
const panels = { graph: "show-graph", table: "show-table", sandwich: "show-sandwich" };
const words = [...document.querySelectorAll("#flame-categories li")].map((entry) => [entry.dataset.key, entry.textContent]);

let trees = null; // {down, up}
let answer = null;
let graph = null;
let table = null;
let sandwich = null;
let chosen = null; // index of the sandwich's function
let isShown = false; // from then on, a change of panel or function is a step in the browser's history
const categories = new URLSearchParams(location.search).getAll("category").filter(Boolean);
const judged = new Set(); // measures with a request

start();

async function start() {
  recall();
  find.value = new URLSearchParams(location.search).get("q") ?? "";
  await load(() => fetchTree(host.dataset.url));
}

async function load(fetching) {
  showOnly(null);
  const waiting = document.getElementById("flame-wait");
  waiting.hidden = false;
  facts.textContent = "Loading call tree…";
  const patience = setTimeout(() => {
    facts.textContent = "Adding up many call trees takes some seconds. A single page or release is faster.";
  }, SLOW_MS);
  try {
    answer = await fetching(() => clearTimeout(patience));
  } catch (error) {
    if (!(error instanceof Problem)) console.error(error);
    return showProblem(error);
  } finally {
    clearTimeout(patience);
    waiting.hidden = true;
  }
  trees = { down: readTree(answer), up: null };
  facts.textContent = describeTree(trees.down, answer, Number(host.dataset.minViews));
  if (trees.down.count < 2 || !answer.nodes.prefix.length) return showEmpty();
  chosen = readChosen();
  if (chosen === -1) facts.textContent = `The function is in no call shown here: it did not run, or its calls are too light. ${facts.textContent}`;
  tools.hidden = false;
  show();
  isShown = true;
}

// Returns the index of the function in the address: -1 if it has no calls here, null if the address has none.
function readChosen() {
  const asked = new URLSearchParams(location.search).get("func");
  return asked === null ? null : trees.down.funcs.findIndex((func) => func.id === asked);
}

addEventListener("popstate", () => {
  if (!isShown) return;
  const asked = new URLSearchParams(location.search);
  chosen = readChosen();
  find.value = asked.get("q") ?? "";
  document.dispatchEvent(new CustomEvent("address-kept", { detail: { name: "q", value: find.value } }));
  tools.querySelector(`[name=show][value=${panels[asked.get("show")] ? asked.get("show") : "graph"}]`).checked = true;
  show();
});

async function showProblem(error) {
  facts.textContent = "";
  const panel = document.getElementById("flame-problem");
  panel.querySelector(".words").textContent = error instanceof Problem ? error.message : "The call tree could not be shown. See the browser’s console for details.";
  panel.querySelector(".way").textContent = error.canPrepare ? "This takes a while, because traces are read one by one. You can leave this page and come back." : "";
  const [prepare, ready, again] = ["prepare", "ready", "again"].map((word) => document.getElementById(`flame-${word}`));
  prepare.hidden = !error.canPrepare;
  again.hidden = !error.canRetry;
  ready.hidden = true;
  const { url, jobsUrl } = host.dataset;
  const onClick = (button, fetching) => { button.onclick = () => { panel.hidden = true; load(fetching); }; };
  onClick(prepare, (isLong) => { isLong(); return prepareTree(url, jobsUrl, showProgress); });
  onClick(again, () => fetchTree(url));
  panel.hidden = false;
  if (!error.canPrepare) return;
  // There may be a finished or running job for the same tree.
  const job = await findJob(url, jobsUrl).catch(() => null);
  if (!job || panel.hidden) return;
  const at = new Date(job.finished_at ?? job.created_at).toLocaleString();
  ready.textContent = job.result_url ? `Show result of ${at}` : "Show progress";
  ready.hidden = false;
  onClick(ready, (isLong) => { isLong(); return followJob(job, showProgress); });
}

function showProgress(done, total) {
  facts.textContent = total === null ? "Waiting for a worker…" : `Reading traces: ${done} of ${total}`;
}

function showEmpty() {
  const panel = document.getElementById("flame-empty");
  panel.querySelector(".words").textContent = answer.head.views
    ? `${counted(answer.head.views, "page view")} match the filters, but no sample has a stack.`
    : "No page view matches the filters.";
  panel.hidden = false;
}

// --- controls ---

function value(name) {
  const field = tools.querySelector(`[name=${name}]:checked, select[name=${name}]`);
  return field?.value;
}

function recall() {
  for (const [name, choices] of Object.entries(REMEMBERED)) {
    const kept = remembered(name);
    const select = tools.querySelector(`select[name=${name}]`);
    if (!choices.includes(kept)) continue;
    if (select) {
      if (!host.dataset.isCompared && select.querySelector(`[value=${kept}]`)) select.value = kept;
    } else tools.querySelector(`[name=${name}][value=${kept}]`).checked = true;
  }
}

// A browser without storage throws.
function remembered(name) {
  try {
    return localStorage.getItem(`flame-${name}`);
  } catch {
    return null;
  }
}

function remember(name, choice) {
  try {
    localStorage.setItem(`flame-${name}`, choice);
  } catch { /* the choice is only kept on this page */ }
}

tools.addEventListener("change", ({ target }) => {
  if (target.name === "find") return;
  if (REMEMBERED[target.name] && target.value !== "change") remember(target.name, target.value);
  if (target.name === "colour") recolour();
  else if (target.name === "grow") graph.setGrowing(target.value === "flame");
  else show();
});

let finding = 0;
find.addEventListener("input", () => {
  clearTimeout(finding);
  finding = setTimeout(search, FIND_AFTER_MS);
});
find.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    find.value = "";
    search();
    if (value("show") === "graph") document.getElementById("flame-canvas").focus();
  } else if (event.key === "Enter" && value("show") === "graph") {
    event.preventDefault();
    clearTimeout(finding);
    search();
    toNextMatch();
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea")) return;
  event.preventDefault();
  find.focus();
});
document.getElementById("flame-out").addEventListener("click", () => graph.zoomOut());

// --- showing ---

function currentTree() {
  if (value("order") !== "up" || value("show") === "sandwich") return trees.down;
  return (trees.up ??= turnOver(trees.down));
}

// Returns the address of a function's page, in this slice.
function linkOf(func) {
  return `${host.dataset.functionsUrl}${encodeURIComponent(func.id)}/${host.dataset.query}`;
}

function side() {
  return value("width") ?? "head";
}

// Fetches once per measure which functions have significant changes. Without an answer, none has.
async function judge(measure) {
  const url = host.dataset.compareUrl;
  const { funcs, base } = trees.down;
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
  for (const control of tools.querySelectorAll("[data-for]")) control.hidden = !control.dataset.for.split(" ").includes(name);
}

function show() {
  const name = value("show");
  showOnly(name);
  keepInAddress(name);
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
    isFlame: value("grow") === "flame",
    onPoint: (node, isKeyboard) => details(node, isKeyboard),
    onZoom: (isNarrowed) => { document.getElementById("flame-out").hidden = !isNarrowed; },
    onSandwich: openSandwich,
  });
  if (graph.scene.tree !== tree || graph.scene.side !== side()) graph.show(tree, recolour(tree), side());
  const { from, to } = graph.scene.view;
  document.getElementById("flame-out").hidden = to - from >= 1;
  details(graph.focus, false);
  search();
}

function details(node, isSpoken) {
  const totalWord = value("order") === "up" ? "Self time, on this path" : "Total";
  showDetails(document.getElementById("flame-details"), currentTree(), node, { isSpoken, totalWord, onSandwich: openSandwich, linkOf });
}

function recolour(tree = currentTree()) {
  const made = colourTree(tree, value("colour"), words);
  if (value("show") === "sandwich") {
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
  keepSearch();
  const output = document.getElementById("flame-found");
  const whole = tree.head.total[0];
  output.textContent = found ? `${counted(found.funcs, "function")}, ${asShare(found.ms / whole)} of script time` : "";
  const name = value("show");
  if (name === "graph") graph.setFound(found?.nodes ?? null);
  else if (name === "table") table.show(tree, keepCallers(tree, found), side());
  else sandwich.show({ tree, func: chosen ?? -1, text: find.value, by: value("colour"), words, side: side() });
}

// Keeps the search in the address, and in links to pages with functions.
function keepSearch() {
  const address = new URL(location.href);
  const q = find.value.trim();
  if (q === (address.searchParams.get("q") ?? "")) return;
  if (q) address.searchParams.set("q", q);
  else address.searchParams.delete("q");
  history.replaceState(null, "", address);
  document.dispatchEvent(new CustomEvent("address-kept", { detail: { name: "q", value: q } }));
}

// Moves to the heaviest match, and with each further call to the next one.
function toNextMatch() {
  const { tree, found } = graph.scene;
  if (!found) return;
  const total = tree[side()].total;
  const matches = [...found.keys()].filter((node) => found[node] && graph.scene.layout.width[node] > 0);
  matches.sort((a, b) => total[b] - total[a] || a - b);
  if (!matches.length) return;
  const next = matches[(matches.indexOf(graph.focus) + 1) % matches.length];
  graph.focusOn(next);
  graph.hasFocus(true);
}

function openSandwich(func) {
  chosen = func;
  tools.querySelector("[name=show][value=sandwich]").checked = true;
  show();
}

// Keeps what is shown in the address, so that it can be shared.
function keepInAddress(name) {
  const address = new URL(location.href);
  address.searchParams.delete("plain");
  if (name === "graph") address.searchParams.delete("show");
  else address.searchParams.set("show", name);
  if (name === "sandwich" && chosen !== null && chosen >= 0) address.searchParams.set("func", trees.down.funcs[chosen].id);
  else address.searchParams.delete("func");
  const here = new URLSearchParams(location.search);
  const isStep = isShown && ["show", "func"].some((each) => here.get(each) !== address.searchParams.get(each));
  if (isStep) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  for (const form of document.querySelectorAll("form.slice-bar, form.compare")) {
    for (const field of form.querySelectorAll("[type=hidden]:is([name=show], [name=plain], [name=func])")) field.remove();
    for (const kept of ["show", "func"]) {
      const value = address.searchParams.get(kept);
      if (value) form.append(make("input", { type: "hidden", name: kept, value }));
    }
  }
}
