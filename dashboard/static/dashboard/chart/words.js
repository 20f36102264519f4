// A chart's figures and moments in words, in the reader's own zone.
import { asCount, asShare, asTime, counted } from "../flame/words.js";

const WRITERS = { ms: asTime, share: asShare, count: asCount };
const MINUTES = { dateStyle: "medium", timeStyle: "short" };
const DAY_S = 86_400;
const moments = new Intl.DateTimeFormat(undefined, MINUTES);
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const year = new Intl.DateTimeFormat(undefined, { year: "numeric" });

export function writerOf(unit) {
  return WRITERS[unit] ?? String;
}

// A bucket as the reader's clock has it. Days and weeks are those of UTC: elsewhere they begin at an odd hour, and say so.
export function asSpan(at, series) {
  const days = { day: "UTC day", week: "UTC week" }[series.bucket];
  const span = moments.formatRange(new Date(at), new Date(at + series.step));
  return days ? `${span} (${days})` : span;
}

// Ticks of an axis, at seconds since 1970: hours with the day below where it begins, or days with the year.
export function asTicks(seconds, stepS) {
  const [small, large] = stepS < DAY_S ? [clock, day] : [day, year];
  let last = null;
  return seconds.map((second) => {
    const at = new Date(second * 1000);
    const below = large.format(at);
    const isNew = below !== last;
    last = below;
    return isNew ? `${small.format(at)}\n${below}` : small.format(at);
  });
}

export function asInterval(point, unit) {
  const write = writerOf(unit);
  if (point.low !== null) return `${write(point.low)} to ${write(point.high)}`;
  return point.isTooFew ? "none: too few page views" : "not known";
}

export function asViews(point) {
  const of = point.looked < point.views ? `, of which ${asCount(point.looked)} tell the interval` : "";
  return counted(point.views, "page view") + of;
}

// One point as a sentence: what is heard, and what stands below the chart.
export function describePoint(point, { what, unit }) {
  const interval = point.low !== null ? `95 % interval ${asInterval(point, unit)}` : `interval ${asInterval(point, unit)}`;
  return `${writerOf(unit)(point.value)} ${what}, ${interval}, n = ${asViews(point)}`;
}
