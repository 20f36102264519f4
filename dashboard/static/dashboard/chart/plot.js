// Draws series with uPlot: a line, its band, dashes where points have no interval, and a mark for every point.
import { columnsOf } from "./series.js";
import { asMarks, asTicks } from "./words.js";

const COLUMNS = 4; // of a line: value, low, high, dashed
const COLOURS = 8; // custom properties --chart-1 to --chart-8; further lines reuse them
const BAND_ALPHA = "33"; // of #rrggbb
const MARK_PX = 3;
const MARKS_UP_TO = 120; // points of a line; more marks would overlap
const HEADROOM = 1.08;
const NAME_PX = 12; // of a mark's name, above the plot
const NAME_GAP_PX = 8; // between two names

export function colourOf(line) {
  return `chart-${(line % COLOURS) + 1}`;
}

function readColours(figure) {
  const style = getComputedStyle(figure);
  const read = (name) => style.getPropertyValue(`--${name}`).trim();
  return { line: (index) => read(colourOf(index)), text: read("muted"), grid: read("line"), card: read("card"), focus: read("text"), font: style.fontFamily };
}

// Returns uPlot's instance. `state` is the chart's own: `series`, `shown` by line, `at` (a line and a place in time) or null.
// `marks` are moments with names, such as the first view of a release. `brush` narrows the time, null where nothing does.
export function plot(target, figure, state, size, onPoint) {
  const colours = readColours(figure);
  const { series, brush, marks } = state;
  const middles = series.times.map((at) => (at + series.step / 2) / 1000);
  const columns = series.lines.map((line) => columnsOf(line.points));
  const options = {
    ...size,
    padding: [marks.length ? NAME_PX + 10 : 8, 36, 0, 0],
    legend: { show: false },
    cursor: { x: true, y: false, drag: { x: Boolean(brush), y: false, setScale: false }, points: { show: false } },
    scales: { x: { time: true, range: () => bounds(series) }, y: { range: (_, __, high) => [0, (high || 1) * HEADROOM] } },
    axes: makeAxes(colours, figure.dataset.chartUnit),
    series: [{}, ...series.lines.flatMap((_, index) => makeLine(colours.line(index), state.shown[index]))],
    bands: series.lines.map((_, index) => {
      const first = 1 + index * COLUMNS;
      return { series: [first + 2, first + 1], fill: colours.line(index) + BAND_ALPHA };
    }),
    hooks: {
      draw: [(chart) => drawMoments(chart, marks, colours), (chart) => drawMarks(chart, state, colours)],
      setCursor: [(chart) => point(chart, onPoint)],
      setSelect: brush ? [(chart) => brush.onDrag(chart)] : [],
    },
  };
  const data = [middles, ...columns.flatMap(({ value, low, high, dashed }) => [value, low, high, dashed])];
  return new window.uPlot(options, data, target);
}

function bounds(series) {
  return [series.times[0] / 1000, (series.times.at(-1) + series.step) / 1000];
}

function makeAxes({ text, grid, font }, unit) {
  const shared = { stroke: text, font: `12px ${font}`, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1, size: 4 } };
  return [
    { ...shared, grid: { show: false }, space: 64, values: (_, splits, __, ___, step) => asTicks(splits, step) },
    { ...shared, size: 74, values: (_, splits) => asMarks(splits, unit) },
  ];
}

function makeLine(stroke, show) {
  const points = { show: false };
  const bound = { show, width: 0, points, stroke: null };
  return [{ show, stroke, width: 2, points }, bound, bound, { show, stroke, width: 1.25, dash: [3, 4], points }];
}

function point(chart, onPoint) {
  const { idx, top } = chart.cursor;
  onPoint(idx === null || idx === undefined || top < 0 ? null : { at: idx, value: chart.posToVal(top, "y") });
}

export function showLine(chart, line, show) {
  for (let column = 0; column < COLUMNS; column++) chart.setSeries(1 + line * COLUMNS + column, { show });
}

// Marks are filled if the point has an interval, else hollow. A point without neighbours has whiskers instead of a band.
function drawMarks(chart, state, colours) {
  const { ctx, data } = chart;
  const ratio = devicePixelRatio;
  const place = (value, scale) => chart.valToPos(value, scale, true);
  ctx.save();
  ctx.setLineDash([]); // of the line drawn last
  ctx.lineWidth = 1.5 * ratio;
  state.series.lines.forEach((line, index) => {
    if (!state.shown[index]) return;
    const isDense = line.points.length > MARKS_UP_TO;
    line.points.forEach((each, at) => {
      if (!each || each.value === null) return;
      const isHere = state.at?.line === index && state.at.at === at;
      const isAlone = !line.points[at - 1]?.isSure && !line.points[at + 1]?.isSure;
      if (isDense && !isHere && !isAlone && each.isSure) return;
      const [x, y] = [place(data[0][at], "x"), place(each.value, "y")];
      ctx.strokeStyle = colours.line(index);
      if (each.isSure && isAlone) drawWhisker(ctx, x, place(each.low, "y"), place(each.high, "y"), ratio);
      drawDot(ctx, x, y, (isHere ? MARK_PX + 2 : MARK_PX) * ratio, each.isSure ? colours.line(index) : colours.card);
      if (isHere) drawRing(ctx, x, y, (MARK_PX + 5) * ratio, colours.focus);
    });
  });
  ctx.restore();
}

// A dashed line at each moment, with its name above the plot. A name that would cover the one before it is left out.
function drawMoments(chart, marks, colours) {
  const { ctx, bbox } = chart;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `${NAME_PX * ratio}px ${colours.font}`;
  ctx.textBaseline = "bottom";
  ctx.textAlign = "left";
  ctx.lineWidth = ratio;
  let end = -Infinity;
  for (const { at, name } of marks) {
    const x = chart.valToPos(at / 1000, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.setLineDash([2 * ratio, 3 * ratio]);
    ctx.strokeStyle = colours.text;
    ctx.beginPath();
    ctx.moveTo(x, bbox.top - 3 * ratio);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    const width = ctx.measureText(name).width;
    const left = Math.min(x - 2 * ratio, chart.ctx.canvas.width - width);
    if (left < end) continue;
    ctx.fillStyle = colours.text;
    ctx.fillText(name, left, bbox.top - 4 * ratio);
    end = left + width + NAME_GAP_PX * ratio;
  }
  ctx.restore();
}

function drawWhisker(ctx, x, low, high, ratio) {
  const half = 4 * ratio;
  ctx.beginPath();
  ctx.moveTo(x, low);
  ctx.lineTo(x, high);
  for (const y of [low, high]) {
    ctx.moveTo(x - half, y);
    ctx.lineTo(x + half, y);
  }
  ctx.stroke();
}

function drawDot(ctx, x, y, radius, fill) {
  ctx.fillStyle = fill;
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.fill();
  ctx.stroke();
}

function drawRing(ctx, x, y, radius, stroke) {
  ctx.strokeStyle = stroke;
  ctx.beginPath();
  ctx.arc(x, y, radius, 0, 2 * Math.PI);
  ctx.stroke();
}
