// Prints what the timeline's pure modules make of a view, as JSON: `timeline.mjs OPERATION`, the answer of
// `views/{id}/timeline` on standard input.
import { readFileSync } from "node:fs";

import { KIND_WORDS, readTimeline } from "../../dashboard/static/dashboard/timeline/bars.js";
import { layOutMarks, wordOf } from "../../dashboard/static/dashboard/timeline/tracks.js";
import { neighbour } from "../../dashboard/static/dashboard/flame/layout.js";

const { answer, asked } = JSON.parse(readFileSync(0, "utf8"));
const timeline = readTimeline(answer, asked?.lane ?? 0);
const nameOf = (bar) => (bar === 0 ? "all" : timeline.funcs[timeline.tree.func[bar]].name);

const operations = {
  // The rows of bars: [name, start, end, samples].
  bars: () => timeline.layout.rows.slice(1).map((row) => [...row].map((bar) =>
    [nameOf(bar), timeline.bars.start[bar], timeline.bars.end[bar], timeline.bars.samples[bar]])),
  places: () => timeline.layout.rows.map((row) => [...row].map((bar) => [timeline.layout.x[bar], timeline.layout.width[bar]])),
  bounds: () => [timeline.from, timeline.to],
  sums: () => timeline.funcs.map((func, index) => ({ name: func.name, ...timeline.sums[index] })),
  segments: () => timeline.segments.map(({ start, end, kind, samples }) => [KIND_WORDS[kind][0], start, end, samples]),
  lanes: () => layOutMarks(timeline.marks).map(({ title, rows }) => [title, rows.map((row) => row.map((index) => wordOf(timeline.marks[index])))]),
  walk: () => {
    let bar = 0;
    return asked.keys.map((key) => nameOf((bar = neighbour(timeline.layout, timeline.tree, bar, key))));
  },
};
console.log(JSON.stringify(operations[process.argv[2]]()));
