// Prints what the chart's pure modules make of an answer, as JSON: `chart.mjs OPERATION`, the input on standard input.
import { readFileSync } from "node:fs";

import * as series from "../../dashboard/static/dashboard/chart/series.js";
import * as words from "../../dashboard/static/dashboard/chart/words.js";

const asked = JSON.parse(readFileSync(0, "utf8"));
const read = asked.answer ? series.readSeries(asked.answer, asked.names) : null;

const operations = {
  times: () => read.times.map((at) => new Date(at).toISOString()),
  names: () => read.lines.map((line) => line.name),
  columns: () => read.lines.map((line) => series.columnsOf(line.points)),
  nearest: () => series.nearestLine(read, asked.shown, asked.at, asked.value),
  walk: () => {
    let place = null;
    return asked.keys.map((key) => {
      place = series.moveBy(key, read, asked.shown, place);
      return place && [place.line, place.at];
    });
  },
  span: () => series.spanOf(read, Date.parse(asked.low), Date.parse(asked.high)),
  marks: () => series.placeMarks(read, asked.marks).map(({ name, at }) => [name, new Date(at).toISOString()]),
  ticks: () => words.asTicks(asked.seconds, asked.step),
  describe: () => words.describePoint(read.lines[0].points[0], asked.words),
};
process.stdout.write(JSON.stringify(operations[process.argv[2]]()));
