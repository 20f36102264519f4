// The numbers of a chart as a table. It may be long, so it is filled when it is opened.
import { make } from "../flame/dom.js";
import { visible } from "../flame/words.js";
import { asInterval, asSpan, asViews, writerOf } from "./words.js";

export function makeTable(series, { what, unit }) {
  const table = make("table", { className: "list" });
  const details = make("details", { className: "chart-table" }, make("summary", { textContent: "As a table" }), table);
  details.addEventListener("toggle", () => {
    if (details.open && !table.rows.length) fill(table, series, { what, unit });
  });
  return details;
}

function fill(table, series, { what, unit }) {
  const words = ["Time", "Line", what[0].toUpperCase() + what.slice(1), "95 % interval", "Page views"];
  const heads = words.map((word, column) => make("th", { scope: "col", className: column > 1 ? "figure" : "", textContent: word }));
  table.append(make("caption", { className: "unseen", textContent: "The chart’s numbers, the latest first" }));
  table.append(make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rowsOf(series, unit, words)));
}

function rowsOf(series, unit, words) {
  const rows = [];
  for (let at = series.times.length - 1; at >= 0; at--) {
    for (const line of series.lines) {
      const point = line.points[at];
      if (!point || point.value === null) continue;
      const cells = [visible(line.name), writerOf(unit)(point.value), asInterval(point, unit), asViews(point)];
      const isFigure = (column) => (column > 0 ? "figure" : "");
      rows.push(
        make(
          "tr",
          { className: point.isSure ? "" : "too-few" },
          make("th", { scope: "row", textContent: asSpan(series.times[at], series) }),
          ...cells.map((text, column) => make("td", { className: isFigure(column), data: { label: words[column + 1] }, textContent: text })),
        ),
      );
    }
  }
  return rows;
}
