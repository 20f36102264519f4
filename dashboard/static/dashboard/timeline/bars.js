// Converts one view's samples to bars on its clock: consecutive samples with the same call are one bar. The result is a
// tree and a layout like those of the flame graph, so that its canvas can draw it.
// Pure: no document, no network. Nothing recurses, because stacks may be hundreds deep.
import { ALL, readFuncs } from "../flame/tree.js";

export const KIND_WORDS = [["js", "Script"], ["hidden", "Hidden"], ["engine", "Engine"], ["profiler", "Profiler"], ["idle", "Idle"], ["unobserved", "Unobserved"]];
export const HIDDEN_CATEGORY = "hidden-time";
export const ENGINE_CATEGORY = "engine-time";
const [JS, HIDDEN, IDLE, PROFILER, ENGINE] = [0, 1, 2, 3, 4]; // indexes of the answer's kinds
const KIND_OF = { [JS]: 0, [HIDDEN]: 1, [ENGINE]: 2, [PROFILER]: 3, [IDLE]: 4 }; // to KIND_WORDS
const UNOBSERVED = 5;
const HIDDEN_STACK = -2;
const PROFILER_STACK = -3;
const ENGINE_STACK = -4;
const SAME_MS = 0.0005; // times are whole µs: closer times are equal

// Returns the timeline of an answer of `views/{id}/timeline`, for one lane: profilers that ran at the same time have
// one lane each.
export function readTimeline(answer, lane = 0) {
  const funcs = readFuncs(answer.functions);
  const pseudo = (label, category) => funcs.push({ id: null, label, name: label, uri: null, line: null, column: null, original: null, category, package: null }) - 1;
  const hiddenFunc = pseudo("(hidden)", HIDDEN_CATEGORY);
  const profilerFunc = pseudo("(profiler)", "profiler");
  const engineFunc = pseudo("(engine)", ENGINE_CATEGORY);
  const timeline = {
    ...findBounds(answer),
    interval: answer.interval_ms,
    lanes: 1 + Math.max(0, ...answer.traces.map((trace) => trace.lane)),
    funcs,
    marks: answer.marks,
    sums: funcs.map(() => ({ self: 0, total: 0, hidden: 0, samples: 0 })),
  };
  const inLane = answer.traces.map((trace) => trace.lane === lane);
  const bars = makeBars(answer, inLane, timeline, { hiddenFunc, profilerFunc, engineFunc });
  timeline.tree = makeTree(bars, funcs);
  timeline.layout = layOutInTime(bars, timeline);
  timeline.bars = bars;
  timeline.segments = makeSegments(answer, inLane);
  return timeline;
}

// Returns the bounds: from the view's start, or from before it, to the end of the last trace or mark.
function findBounds(answer) {
  const starts = [0, ...answer.traces.map((trace) => trace.start_ms)];
  const ends = answer.traces.map((trace) => trace.end_ms);
  for (const mark of answer.marks) {
    starts.push(mark.start_ms);
    ends.push(mark.start_ms + mark.duration_ms);
  }
  const least = (values) => values.reduce((a, b) => Math.min(a, b));
  const most = (values) => values.reduce((a, b) => Math.max(a, b), 0);
  const [from, to] = [least(starts), most(ends)];
  return { from, to: to > from ? to : from + 1 };
}

function makeBars(answer, inLane, timeline, { hiddenFunc, profilerFunc, engineFunc }) {
  const { prefix, function: func } = answer.stacks;
  const { time_ms: time, weight_ms: weight, stack, kind, hidden_stack: hiddenStack, trace } = answer.samples;
  const bars = { start: [timeline.from], end: [timeline.to], prefix: [-1], func: [-1], depth: [0], samples: [0], self: [0] };
  const pseudoFuncs = new Map([[HIDDEN_STACK, hiddenFunc], [PROFILER_STACK, profilerFunc], [ENGINE_STACK, engineFunc]]);
  const open = []; // the bars of the last sample, by depth
  const openStack = [];
  const seen = new Int32Array(timeline.funcs.length).fill(-1);
  const path = [];
  let lastEnd = -Infinity;
  for (let index = 0; index < time.length; index++) {
    if (!inLane[trace[index]]) continue;
    readPath(path, prefix, stack[index], hiddenStack[index], kind[index]);
    addSums(timeline.sums, { path, func, weight: weight[index], kind: kind[index], index, seen });
    if (!(weight[index] > 0)) continue; // of several samples at one time, only the last has a weight
    if (time[index] > lastEnd + SAME_MS) open.length = 0;
    lastEnd = time[index] + weight[index];
    let depth = 0;
    while (depth < path.length && depth < open.length && openStack[depth] === path[depth]) depth++;
    open.length = depth;
    for (const bar of open) {
      bars.end[bar] = lastEnd;
      bars.samples[bar]++;
    }
    for (; depth < path.length; depth++) {
      openStack[depth] = path[depth];
      bars.start.push(time[index]);
      bars.end.push(lastEnd);
      bars.prefix.push(depth ? open[depth - 1] : ALL);
      bars.func.push(pseudoFuncs.get(path[depth]) ?? func[path[depth]]);
      bars.depth.push(depth + 1);
      bars.samples.push(1);
      bars.self.push(0);
      open.push(bars.start.length - 1);
    }
    if (open.length) bars.self[open[open.length - 1]] += weight[index];
  }
  return bars;
}

// Puts the stacks of a sample into `path`, from root to leaf.
function readPath(path, prefix, stack, hiddenStack, kind) {
  path.length = 0;
  if (kind === PROFILER) path.push(PROFILER_STACK);
  if (kind === ENGINE) path.push(ENGINE_STACK);
  if (kind === HIDDEN) path.push(HIDDEN_STACK);
  const leaf = kind === JS ? stack : kind === HIDDEN ? hiddenStack : -1;
  for (let at = leaf; at >= 0; at = prefix[at]) path.push(at);
  path.reverse();
}

// Adds a sample to its functions' self, total and hidden time. The total counts each sample once, even with recursion.
function addSums(sums, { path, func, weight, kind, index, seen }) {
  if (kind === HIDDEN && path.length > 1) sums[func[path[path.length - 2]]].hidden += weight;
  if (kind !== JS || !path.length) return;
  sums[func[path[path.length - 1]]].self += weight;
  for (const at of path) {
    if (seen[func[at]] === index) continue;
    seen[func[at]] = index;
    sums[func[at]].total += weight;
    sums[func[at]].samples++;
  }
}

function makeTree(bars, funcs) {
  const count = bars.start.length;
  const total = Float64Array.from(bars.start, (start, bar) => bars.end[bar] - start);
  const side = { self: Float64Array.from(bars.self), total, hidden: new Float64Array(count) };
  return { count, prefix: Int32Array.from(bars.prefix), func: Int32Array.from(bars.func), head: side, base: null, funcs, isTurned: false };
}

function layOutInTime(bars, { from, to }) {
  const count = bars.start.length;
  const span = to - from;
  const x = Float64Array.from(bars.start, (start) => (start - from) / span);
  const width = Float64Array.from(bars.start, (start, bar) => (bars.end[bar] - start) / span);
  const rows = [];
  const place = new Int32Array(count);
  const start = new Int32Array(count + 1);
  for (let bar = 0; bar < count; bar++) {
    const row = (rows[bars.depth[bar]] ??= []);
    place[bar] = row.length;
    row.push(bar);
    if (bar) start[bars.prefix[bar] + 1]++;
  }
  for (let bar = 0; bar < count; bar++) start[bar + 1] += start[bar];
  const next = start.slice();
  const nodes = new Int32Array(Math.max(count - 1, 0));
  for (let bar = 1; bar < count; bar++) nodes[next[bars.prefix[bar]]++] = bar;
  return { x, width, depth: Uint16Array.from(bars.depth), place, rows: rows.map((row) => Int32Array.from(row)), start, nodes };
}

// Returns sections of one kind of time, in order: {start, end, kind, samples, self}; `self` is ms by function.
function makeSegments(answer, inLane) {
  const { time_ms: time, weight_ms: weight, stack, kind, trace } = answer.samples;
  const segments = [];
  for (let index = 0; index < time.length; index++) {
    if (!inLane[trace[index]]) continue;
    const of = KIND_OF[kind[index]];
    let last = segments[segments.length - 1];
    if (!last || last.kind !== of || time[index] > last.end + SAME_MS) {
      last = { start: time[index], end: time[index], kind: of, samples: 0, self: new Map() };
      segments.push(last);
    }
    last.end = Math.max(last.end, time[index] + weight[index]);
    last.samples++;
    if (kind[index] !== JS) continue;
    const func = answer.stacks.function[stack[index]];
    last.self.set(func, (last.self.get(func) ?? 0) + weight[index]);
  }
  answer.gaps.start_ms.forEach((start, index) => {
    if (inLane[answer.gaps.trace[index]]) segments.push({ start, end: answer.gaps.end_ms[index], kind: UNOBSERVED, samples: 0, self: new Map() });
  });
  return segments.sort((a, b) => a.start - b.start);
}
