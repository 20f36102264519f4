// The tracks above the stack chart: a ruler, the main thread's activity, and marks in lanes. They share its view, as
// parts of the whole from 0 to 1.
import { cut } from "../flame/draw.js";
import { readColours } from "../flame/colours.js";
import { asScale, asTime, visible } from "../flame/words.js";
import { KIND_WORDS } from "./bars.js";

const RULER = 22; // px
const ACTIVITY = 34;
const TITLE = 15;
const ROW = 17;
const GAP = 5;
const MAX_ROWS = 3; // of a lane; further overlapping marks share the last row
const LEAST_TEXT = 18; // px
const TICK_TEXT = 30; // px: a tick nearer to the edge has no room for its text
const NEAR = 6; // px: distance at which the pointer hits a mark without duration
const LANES = [
  ["Vitals", "--mark-vital", ["largest-contentful-paint", "first-contentful-paint", "first-paint", "layout-shift", "interaction-to-next-paint"]],
  ["Long tasks", "--mark-task", ["longtask", "long-animation-frame"]],
  ["Interactions", "--mark-interaction", ["interaction"]],
  ["User timing", "--mark-timing", ["mark", "measure"]],
  ["Other marks", "--mark-other", null],
];
const WORDS = {
  "largest-contentful-paint": "LCP", "first-contentful-paint": "FCP", "first-paint": "First paint", "layout-shift": "Layout shift",
  "interaction-to-next-paint": "INP", longtask: "Long task", "long-animation-frame": "Long frame", interaction: "Interaction", mark: "Mark", measure: "Measure",
};
const THEME = ["--text", "--muted", "--line", "--card", "--focus", ...LANES.map(([, property]) => property), ...KIND_WORDS.map(([kind]) => `--${kind}`)];

export function wordOf(mark) {
  const word = WORDS[mark.type] ?? visible(mark.type);
  return mark.name && mark.name !== mark.type ? `${word} ${visible(mark.name)}` : word;
}

function labelOf(mark) {
  return mark.duration_ms ? `${wordOf(mark)} ${asTime(mark.duration_ms)}` : wordOf(mark);
}

// Returns the lanes that have marks, with their rows: [{title, property, rows: [[mark index]]}].
export function layOutMarks(marks) {
  const lanes = LANES.map(([title, property, types]) => ({ title, property, types, rows: [] }));
  marks.forEach((mark, index) => {
    const lane = lanes.find(({ types }) => types === null || types.includes(mark.type));
    const isFree = (row) => {
      const last = marks[row[row.length - 1]];
      return last.start_ms + last.duration_ms <= mark.start_ms;
    };
    const row = lane.rows.find(isFree) ?? (lane.rows.length < MAX_ROWS ? lane.rows[lane.rows.push([]) - 1] : lane.rows[MAX_ROWS - 1]);
    row.push(index);
  });
  return lanes.filter((lane) => lane.rows.length);
}

export function makeTracks(canvas, timeline) {
  const context = canvas.getContext("2d");
  const lanes = layOutMarks(timeline.marks);
  const tops = [];
  let height = RULER + TITLE + ACTIVITY + GAP;
  for (const lane of lanes) {
    tops.push(height);
    height += TITLE + lane.rows.length * ROW + GAP;
  }
  const span = timeline.to - timeline.from;
  const state = { view: { from: 0, to: 1 }, width: 0, pointed: -1, focused: -1, ratio: 1 };
  let colours = {};

  const timeAt = (x) => timeline.from + (state.view.from + (x / state.width) * (state.view.to - state.view.from)) * span;
  const xOf = (ms) => (((ms - timeline.from) / span - state.view.from) / (state.view.to - state.view.from)) * state.width;

  function restyle() {
    const values = readColours(THEME);
    colours = Object.fromEntries(THEME.map((name, index) => [name, values[index]]));
  }

  function resize() {
    state.width = canvas.parentElement.clientWidth;
    state.ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(state.width * state.ratio);
    canvas.height = Math.round(height * state.ratio);
  }

  function draw(view) {
    state.view = view;
    context.setTransform(state.ratio, 0, 0, state.ratio, 0, 0);
    context.clearRect(0, 0, state.width, height);
    context.font = "11.5px system-ui, sans-serif";
    context.textBaseline = "middle";
    drawRuler();
    drawTitle("Main thread", RULER);
    drawActivity(RULER + TITLE);
    lanes.forEach((lane, index) => drawLane(lane, tops[index]));
  }

  function drawTitle(title, y) {
    context.fillStyle = colours["--muted"];
    context.fillText(title, 8, y + TITLE / 2);
  }

  function drawRuler() {
    const shown = (state.view.to - state.view.from) * span;
    const rough = (shown / state.width) * 110; // about 110 px between ticks
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((times) => times * power).find((each) => each >= rough);
    const first = Math.ceil(timeAt(0) / step) * step;
    const marks = [];
    for (let at = first; at <= timeAt(state.width); at += step) marks.push(Math.abs(at) < step / 2 ? 0 : at);
    const texts = asScale(marks);
    marks.forEach((at, index) => {
      const x = Math.round(xOf(at)) + 0.5;
      context.fillStyle = colours["--line"];
      context.fillRect(x - 0.5, 0, 1, height);
      context.fillStyle = colours["--muted"];
      if (state.width - x >= TICK_TEXT) context.fillText(at === 0 ? "start" : texts[index], x + 4, RULER / 2);
    });
  }

  // Each pixel column shows the parts of its time.
  function drawActivity(y) {
    const columns = Math.ceil(state.width);
    const parts = KIND_WORDS.map(() => new Float64Array(columns + 1));
    const scale = state.width / ((state.view.to - state.view.from) * span);
    const { segments } = timeline;
    for (let index = firstEnding(segments, timeAt(0)); index < segments.length; index++) {
      const { start, end, kind } = segments[index];
      const left = Math.max(xOf(start), 0);
      if (left >= columns) break;
      const right = Math.min(left + (end - Math.max(start, timeAt(0))) * scale, columns);
      for (let column = Math.floor(left); column < right; column++) {
        parts[kind][column] += Math.min(right, column + 1) - Math.max(left, column);
      }
    }
    drawAreas(parts, columns, y + ACTIVITY);
  }

  // Stacked areas, each drawn down to the ground, the highest first: five paths, however many columns.
  function drawAreas(parts, columns, ground) {
    for (let kind = parts.length - 1; kind >= 0; kind--) {
      context.beginPath();
      context.moveTo(0, ground);
      let isAny = false;
      for (let column = 0; column < columns; column++) {
        let high = 0;
        for (let below = 0; below <= kind; below++) high += parts[below][column];
        isAny ||= parts[kind][column] > 0;
        const top = ground - Math.min(high, 1) * ACTIVITY;
        context.lineTo(column, top);
        context.lineTo(column + 1, top);
      }
      context.lineTo(columns, ground);
      context.fillStyle = colours[`--${KIND_WORDS[kind][0]}`];
      if (isAny) context.fill();
    }
  }

  function drawLane(lane, top) {
    drawTitle(lane.title, top);
    const charWidth = context.measureText("0").width;
    lane.rows.forEach((row, number) => {
      const y = top + TITLE + number * ROW;
      let drawnTo = -1;
      row.forEach((index, place) => {
        const mark = timeline.marks[index];
        const left = xOf(mark.start_ms);
        const right = Math.max(left + 2, xOf(mark.start_ms + mark.duration_ms));
        if (right < 0 || left > state.width || right < drawnTo + 1) return;
        drawnTo = right;
        const from = Math.max(left, 0);
        context.fillStyle = colours[lane.property];
        context.globalAlpha = mark.duration_ms ? 0.28 : 1;
        context.fillRect(from, y, Math.max(Math.min(right, state.width) - from, 2), ROW - 3);
        context.globalAlpha = 1;
        context.fillRect(Math.max(left, 0), y, 2, ROW - 3);
        const next = place + 1 < row.length ? xOf(timeline.marks[row[place + 1]].start_ms) : state.width;
        const label = labelOf(mark);
        const fits = !mark.duration_ms || context.measureText(label).width + 12 <= right - from;
        const textFrom = fits ? from + 6 : Math.max(right + 4, from + 6); // after a bar that is too short for it
        const room = Math.min(next, state.width) - textFrom - 3;
        const isAfter = !fits && room >= LEAST_TEXT;
        const inside = isAfter || fits ? room : Math.min(right, next, state.width) - from - 9;
        const shown = inside < LEAST_TEXT ? "" : cut(context, label, inside, charWidth);
        if (shown) {
          context.fillStyle = colours["--text"];
          context.fillText(shown, isAfter || fits ? textFrom : from + 6, y + (ROW - 3) / 2 + 0.5);
        }
        if (index !== state.pointed && index !== state.focused) return;
        context.strokeStyle = index === state.focused ? colours["--focus"] : colours["--text"];
        context.lineWidth = index === state.focused ? 2 : 1;
        context.strokeRect(from + 0.5, y + 0.5, Math.max(Math.min(right, state.width) - from - 1, 2), ROW - 4);
      });
    });
  }

  // The mark at a place, or -1.
  function markAt(x, y) {
    for (let number = 0; number < lanes.length; number++) {
      const row = lanes[number].rows[Math.floor((y - tops[number] - TITLE) / ROW)];
      if (y < tops[number] || !row) continue;
      const found = row.filter((index) => {
        const mark = timeline.marks[index];
        return xOf(mark.start_ms) - NEAR <= x && x <= Math.max(xOf(mark.start_ms + mark.duration_ms), xOf(mark.start_ms) + NEAR);
      });
      if (found.length) return found.reduce((a, b) => (Math.abs(xOf(timeline.marks[a].start_ms) - x) <= Math.abs(xOf(timeline.marks[b].start_ms) - x) ? a : b));
    }
    return -1;
  }

  return { state, draw, markAt, timeAt, resize, restyle, height };
}

function firstEnding(segments, from) {
  let [low, high] = [0, segments.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (segments[middle].end <= from) low = middle + 1;
    else high = middle;
  }
  return low;
}
