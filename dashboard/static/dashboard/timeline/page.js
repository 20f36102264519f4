// The timeline of one view: fetches it, draws its tracks and stack chart on one clock, and shows details.
import { colourTree } from "../flame/colours.js";
import { make, makeSwatch } from "../flame/dom.js";
import { makeGraph } from "../flame/graph.js";
import { fetchTree, Problem } from "../flame/loading.js";
import { addressOf, asShare, asTime, counted, nameOf, placeOf, visible } from "../flame/words.js";
import { ENGINE_CATEGORY, HIDDEN_CATEGORY, KIND_WORDS, readTimeline } from "./bars.js";
import { listenToTracks } from "./input.js";
import { asMoment, describeFacts, fillTables } from "./tables.js";
import { makeTracks, wordOf } from "./tracks.js";

const AROUND = 0.1; // margin on each side of a section
const LEAST_MS = 20; // width of the view around a mark without duration
const byId = (id) => document.getElementById(id);
const host = byId("timeline");
const details = byId("timeline-details");
const meanings = Object.fromEntries([...document.querySelectorAll("#time-parts li")].map((item) => [item.dataset.key, item.textContent]));
const words = [...document.querySelectorAll("#flame-categories li")].map((item) => [item.dataset.key, item.textContent]);

let timeline = null;
let tracks = null;

const graph = makeGraph({
  canvas: byId("stacks-canvas"),
  isPart: true,
  onPoint: (node, isKeyboard) => { if (node > 0) describeBar(node, isKeyboard); },
  onDraw: (scene) => tracks?.draw(scene.view),
});
let isListening = false;

async function load() {
  byId("timeline-problem").hidden = true;
  byId("timeline-facts").textContent = "Loading samples…";
  try {
    const answer = await fetchTree(host.dataset.url);
    show(answer);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    byId("timeline-facts").textContent = "";
    byId("timeline-problem").hidden = false;
    byId("timeline-problem").querySelector(".words").textContent = error.message;
    byId("timeline-again").hidden = !error.canRetry;
  }
}

// If several profilers ran at the same time, only one is shown.
function show(answer, lane = 0) {
  timeline = readTimeline(answer, lane);
  byId("timeline-facts").textContent = describe(answer);
  byId("timeline-graph").hidden = false;
  byId("timeline-tools").hidden = false;
  document.querySelector("#timeline .flame-scroll").hidden = timeline.tree.count < 2; // there are no stacks
  tracks = makeTracks(byId("tracks-canvas"), timeline);
  graph.scene.noteOf = (bar) => asTime(timeline.tree.head.total[bar]);
  const colours = colourTree(timeline.tree, "category", [...words, [HIDDEN_CATEGORY, "Hidden, attributed to the function above"], [ENGINE_CATEGORY, "Engine: style, layout, paint, parsing"]]);
  graph.show(timeline.tree, colours, "head", timeline.layout);
  fillLegend(colours);
  fillLanes(answer, lane);
  fillTables(byId("timeline-tables"), timeline, showTime);
  refit();
  describeAll();
  if (isListening) return;
  isListening = true;
  listenToTracks(byId("tracks-canvas"), graph, { tracks: () => tracks, timeline: () => timeline, onMark: describeMark, onTime: describeTime, showTime });
  new ResizeObserver(refit).observe(byId("tracks-canvas").parentElement);
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", refit);
}

function refit() {
  tracks.restyle();
  tracks.resize();
  graph.redraw();
}

function fillLanes(answer, lane) {
  document.querySelector("#timeline-lane")?.remove();
  if (timeline.lanes < 2) return;
  const options = Array.from({ length: timeline.lanes }, (_, n) => make("option", { value: n, selected: n === lane }, `Profiler ${n + 1}`));
  const select = make("select", { id: "timeline-lane", ariaLabel: "Profiler to show", onchange: () => show(answer, Number(select.value)) }, ...options);
  byId("timeline-tools").prepend(select);
}

function describe(answer) {
  const parts = [
    `${asTime(timeline.to - timeline.from)} long`,
    counted(answer.samples.time_ms.length, "sample"),
    `one every ${asTime(answer.interval_ms)}`,
    counted(answer.marks.length, "mark"),
  ];
  if (timeline.lanes > 1) parts.push(`${timeline.lanes} profilers ran at once`);
  return parts.join(" · ");
}

function fillLegend(colours) {
  const kinds = KIND_WORDS.map(([kind, word]) => make("li", { title: meanings[kind] }, make("span", { className: `swatch part-${kind}`, ariaHidden: "true" }), word,
    make("span", { className: "unseen" }, `. ${meanings[kind]}`)));
  const used = colours.entries.filter((entry) => entry.word && entry.share > 0);
  const bars = used.map((entry) => make("li", {}, makeSwatch(entry.property), make("bdi", {}, entry.word)));
  byId("timeline-legend").replaceChildren(...kinds, ...bars);
}

// Scrolls and zooms to a section of time.
function showTime(start, end) {
  const span = timeline.to - timeline.from;
  const wanted = Math.max(end - start, LEAST_MS) * (1 + 2 * AROUND);
  const from = ((start + end - wanted) / 2 - timeline.from) / span;
  const width = Math.min(wanted / span, 1);
  const left = Math.min(Math.max(from, 0), 1 - width);
  graph.showRange({ from: left, to: left + width });
  byId("timeline-graph").scrollIntoView({ block: "nearest" });
}

const figure = (word, value, more) =>
  make("div", {}, make("dt", {}, word), make("dd", {}, value, more ? make("span", { className: "muted" }, ` ${more}`) : null));

function fill(isSpoken, ...children) {
  details.setAttribute("aria-live", isSpoken ? "polite" : "off");
  details.replaceChildren(...children);
}

function describeAll() {
  const interval = asTime(timeline.interval);
  const hint = timeline.bars.start.length > 1
    ? `A bar is at least one sample of ${interval}. Shorter calls may be missing.`
    : "No stack was seen in this view.";
  fill(false, make("p", { className: "which muted" }, hint));
}

function describeBar(bar, isSpoken) {
  const { bars, tree, sums, interval } = timeline;
  const index = tree.func[bar];
  const [func, sum] = [tree.funcs[index], sums[index]];
  const place = placeOf(func);
  const where = make("bdi", { className: "place muted", title: visible(addressOf(func) ?? "") }, func.uri || func.original ? place : "");
  const name = func.id === null ? nameOf(func) : make("a", { href: host.dataset.functionUrl.replace("/functions/ID/", `/functions/${func.id}/`) }, nameOf(func));
  const which = make("p", { className: "which" }, make("bdi", { className: "name" }, name), " ", where,
    make("span", { className: "muted facts" }, sentenceOf(func, bars.samples[bar], interval)));
  const figures = [figure("Here", asTime(tree.head.total[bar]), counted(bars.samples[bar], "sample")), figure("From", asMoment(bars.start[bar]), `to ${asMoment(bars.end[bar])}`)];
  if (sum.total) figures.push(figure("Self in view", asTime(sum.self)), figure("Total in view", asTime(sum.total), counted(sum.samples, "sample")));
  if (sum.hidden) figures.push(figure("Hidden in view", asTime(sum.hidden)));
  fill(isSpoken, which, make("dl", {}, ...figures));
}

function sentenceOf(func, count, interval) {
  if (func.category === HIDDEN_CATEGORY) return "The main thread was busy without a visible stack. This time is attributed to the function above, or to none.";
  if (func.category === ENGINE_CATEGORY) return "The main thread was busy outside all scripts: style, layout, paint, parsing.";
  if (func.category === "profiler") return "The cost of the profiler itself. It is in no function.";
  const category = func.category ? `${func.category} · ` : "";
  return `${category}${counted(count, "sample")} of ${asTime(interval)}; shorter calls may be missing`;
}

function describeMark(index, isSpoken) {
  const mark = timeline.marks[index];
  const which = make("p", { className: "which" }, make("bdi", { className: "name" }, wordOf(mark)), describeFacts(mark));
  const figures = [figure("At", asMoment(mark.start_ms), "after the start")];
  if (mark.duration_ms) figures.push(figure("Took", asTime(mark.duration_ms)), figure("Until", asMoment(mark.start_ms + mark.duration_ms)));
  fill(isSpoken, which, make("dl", {}, ...figures));
}

function describeTime(ms) {
  const segment = timeline.segments.find(({ start, end }) => start <= ms && ms < end);
  const word = segment ? KIND_WORDS[segment.kind][1] : "Not recorded";
  const figures = [figure("At", asMoment(ms), "after the start")];
  if (segment) figures.push(figure("From", asMoment(segment.start), `to ${asMoment(segment.end)}`), figure("Took", asTime(segment.end - segment.start), asShare((segment.end - segment.start) / (timeline.to - timeline.from))));
  fill(false, make("p", { className: "which" }, make("b", {}, word)), make("dl", {}, ...figures));
}

byId("timeline-again").addEventListener("click", load);
byId("timeline-tools").addEventListener("click", (event) => {
  const move = event.target.closest("[data-move]")?.dataset.move;
  if (move === "in") graph.move({ factor: 0.5 });
  if (move === "out") graph.move({ factor: 2 });
  if (move === "all") graph.showRange({ from: 0, to: 1 });
});
load();
