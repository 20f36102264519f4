// The timeline's data as tables: marks and activity. They have everything that the canvases show.
import { make } from "../flame/dom.js";
import { asCount, asTime, asTimeIn, chooseUnit, counted, nameOf, visible } from "../flame/words.js";
import { KIND_WORDS } from "./bars.js";
import { wordOf } from "./tracks.js";

const MAX_ROWS = 300; // of each table: keeps the page fast

export function fillTables(host, timeline, onShow) {
  host.replaceChildren(
    fold(`Marks as a table (${asCount(timeline.marks.length)})`, () => tableOfMarks(timeline, onShow)),
    fold(`Activity as a table (${counted(timeline.segments.length, "row")})`, () => tableOfSegments(timeline, onShow)),
  );
  host.hidden = false;
}

// The table is created when it is first opened.
function fold(title, makeTable) {
  const details = make("details", {}, make("summary", {}, title));
  details.addEventListener("toggle", () => details.open && details.append(...makeTable()), { once: true });
  return details;
}

function tableOfMarks(timeline, onShow) {
  if (!timeline.marks.length) return [make("p", { className: "muted" }, "The page sent no marks.")];
  const shown = timeline.marks.slice(0, MAX_ROWS);
  const unit = chooseUnit(shown.map((mark) => mark.duration_ms));
  const rows = shown.map((mark) => make("tr", {},
    make("th", { scope: "row" }, make("bdi", {}, wordOf(mark)), describeFacts(mark)),
    cell("At", asMoment(mark.start_ms)), cell("Took", mark.duration_ms ? asTimeIn(mark.duration_ms, unit) : "–"),
    make("td", { data: { label: "Timeline" } }, showButton(wordOf(mark), () => onShow(mark.start_ms, mark.start_ms + mark.duration_ms)))));
  return [makeTable("Marks of this view by time", ["Mark", "At", "Took", "Timeline"], rows), rest(timeline.marks.length, "marks")];
}

function tableOfSegments(timeline, onShow) {
  // The longest sections, sorted by time.
  const picked = [...timeline.segments].sort((a, b) => b.end - b.start - (a.end - a.start)).slice(0, MAX_ROWS).sort((a, b) => a.start - b.start);
  const unit = chooseUnit(picked.map((segment) => segment.end - segment.start));
  const rows = picked.map((segment) => {
    const word = KIND_WORDS[segment.kind][1];
    const most = [...segment.self].sort((a, b) => b[1] - a[1])[0];
    return make("tr", {},
      make("th", { scope: "row" }, word),
      cell("From", asMoment(segment.start)), cell("Took", asTimeIn(segment.end - segment.start, unit)), cell("Samples", asCount(segment.samples)),
      make("td", { data: { label: "Top function" } }, most ? make("bdi", { className: "name" }, nameOf(timeline.funcs[most[0]])) : "–"),
      make("td", { data: { label: "Timeline" } }, showButton(`${word} at ${asMoment(segment.start)}`, () => onShow(segment.start, segment.end))));
  });
  const heads = ["Activity", "From", "Took", "Samples", "Top function", "Timeline"];
  return [makeTable("Main thread activity by time", heads, rows), rest(timeline.segments.length, "rows, the longest")];
}

function makeTable(caption, heads, rows) {
  const figures = new Set(["At", "From", "Took", "Samples"]);
  return make("table", { className: "list" }, make("caption", { className: "unseen" }, caption),
    make("thead", {}, make("tr", {}, ...heads.map((head) => make("th", { scope: "col", className: figures.has(head) ? "figure" : "" }, head)))),
    make("tbody", {}, ...rows));
}

function cell(label, text) {
  return make("td", { className: "figure", data: { label } }, text);
}

function showButton(what, onclick) {
  return make("button", { type: "button", className: "quiet", onclick, ariaLabel: `Show ${what} in the timeline` }, "Show");
}

function rest(count, words) {
  return count > MAX_ROWS ? make("p", { className: "muted" }, `${asCount(MAX_ROWS)} of ${asCount(count)} ${words}.`) : "";
}

// Writes a time on the view's clock; times before its start are negative.
export function asMoment(ms) {
  return asTime(ms);
}

// Returns a script of a long frame in one line: who called it, what ran, and for how long.
export function scriptLine(script) {
  const { invoker, invokerType, function: own, sourceFunctionName, url, sourceURL, duration, forced, forcedStyleAndLayoutDuration } = script;
  const layout = forced ?? forcedStyleAndLayoutDuration;
  const words = [invoker || invokerType, own || sourceFunctionName, url || sourceURL].filter(Boolean).map((word) => visible(String(word)));
  return `${["Script", ...words].join(" ")} ${asTime(Number(duration) || 0)}${layout ? `, forced layout ${asTime(Number(layout) || 0)}` : ""}`;
}

export function describeFacts(mark) {
  const facts = Object.entries(mark.facts).map(([name, value]) => `${visible(name)}: ${visible(String(value))}`);
  facts.push(...mark.scripts.map(scriptLine));
  return facts.length ? make("span", { className: "under muted" }, facts.join(" · ")) : "";
}
