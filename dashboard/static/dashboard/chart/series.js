// Converts the lines of an answer to columns on one regular grid of time. A bucket without data is a gap in the line.

export const STEPS_MS = { hour: 3_600_000, day: 86_400_000, week: 7 * 86_400_000 };

// Reads `{bucket, lines: [{…, points: [{at, views, is_too_few, …}]}]}`. `value` names the field of a point's number, and
// `…_ci95` has its interval; `name` names the field of a line's name, null for all together. Returns `{step, times, lines}`:
// `times` are starts of buckets (ms since 1970), and each line has a point or null for each of them.
export function readSeries(answer, { value = "ms_per_view", name = "release", whole = "All" } = {}) {
  const step = STEPS_MS[answer.bucket];
  const read = answer.lines.map((line) => ({
    name: line[name] ?? whole,
    found: new Map(line.points.map((point) => [Date.parse(point.at), readPoint(point, value)])),
  }));
  const times = makeGrid(read.flatMap((line) => [...line.found.keys()]), step);
  const lines = read.map((line) => ({ name: line.name, points: times.map((at) => line.found.get(at) ?? null) }));
  return { step, bucket: answer.bucket, times, lines };
}

// A point is sure if it has an interval; the others are drawn faint.
function readPoint(point, value) {
  const [low, high] = point[`${value}_ci95`] ?? [null, null];
  return {
    value: point[value],
    low,
    high,
    views: point.views,
    looked: point.sampled_views ?? point.views,
    isTooFew: Boolean(point.is_too_few),
    isSure: point[value] !== null && low !== null && !point.is_too_few,
  };
}

function makeGrid(instants, step) {
  if (!instants.length) return [];
  const first = instants.reduce((a, b) => Math.min(a, b));
  const last = instants.reduce((a, b) => Math.max(a, b));
  return Array.from({ length: Math.round((last - first) / step) + 1 }, (_, n) => first + n * step);
}

// Returns the whole buckets between two moments (ms since 1970) as `{from, to}`, texts of an address; null for all of them.
export function spanOf(series, low, high) {
  const { times, step } = series;
  const inside = times.filter((at) => at + step > low && at <= high);
  if (!inside.length || inside.length === times.length) return null;
  const write = (at) => `${new Date(at).toISOString().slice(0, 16)}Z`;
  return { from: write(inside[0]), to: write(inside.at(-1) + step) };
}

// Returns the moments to mark, in order, of `[[name, moment], …]`. Of data that is older than its arrival, as of imports, a
// line's first bucket counts instead.
export function placeMarks(series, marks) {
  const firstOf = (name) => {
    const at = series.lines.find((line) => line.name === name)?.points.findIndex((point) => point !== null);
    return at === undefined || at < 0 ? Infinity : series.times[at];
  };
  const placed = marks.map(([name, at]) => {
    const [first, seen] = [firstOf(name), Date.parse(at)];
    return { name, at: seen > first + series.step ? first : seen };
  });
  return placed.sort((a, b) => a.at - b.at);
}

// Returns the columns of a line: the sure values with their bounds, and the values at both ends of each faint section,
// which is dashed.
export function columnsOf(points) {
  const known = (at) => points[at] !== undefined && points[at] !== null && points[at].value !== null;
  const faint = (at) => known(at) && !points[at].isSure;
  const pick = (field) => points.map((point) => (point?.isSure ? point[field] : null));
  const dashed = points.map((point, at) => (faint(at) || (known(at) && (faint(at - 1) || faint(at + 1))) ? point.value : null));
  return { value: pick("value"), low: pick("low"), high: pick("high"), dashed };
}

// Returns the index of the line with the value nearest to the pointer, of the lines with a value at this time.
export function nearestLine(series, shown, at, value) {
  const candidates = series.lines
    .map((line, index) => ({ index, point: line.points[at] }))
    .filter(({ index, point }) => shown[index] && point && point.value !== null);
  const far = ({ point }) => Math.abs(point.value - value);
  return candidates.length ? candidates.reduce((a, b) => (far(b) < far(a) ? b : a)).index : null;
}

// Returns the line and time that a key leads to, from a line and time (null: none yet). Skips hidden lines and gaps.
export function moveBy(key, series, shown, from) {
  const known = (line, at) => shown[line] && series.lines[line].points[at] && series.lines[line].points[at].value !== null;
  const places = (line) => series.times.map((_, at) => at).filter((at) => known(line, at));
  const lines = series.lines.map((_, line) => line).filter((line) => places(line).length);
  if (!lines.length) return null;
  const line = lines.includes(from?.line) ? from.line : lines[0];
  const own = places(line);
  if (!from || line !== from.line || key === "End") return { line, at: own.at(-1) };
  if (key === "Home") return { line, at: own[0] };
  if (key === "ArrowLeft") return { line, at: own.findLast((at) => at < from.at) ?? from.at };
  if (key === "ArrowRight") return { line, at: own.find((at) => at > from.at) ?? from.at };
  const place = lines.indexOf(line) + (key === "ArrowDown" ? 1 : -1);
  const next = lines[Math.min(Math.max(place, 0), lines.length - 1)];
  const near = places(next).reduce((a, b) => (Math.abs(b - from.at) < Math.abs(a - from.at) ? b : a));
  return { line: next, at: near };
}
