// Writes a chart's numbers and times as text, in the reader's time zone.
import { asCount, asScale, asShare, asTime, counted } from "../flame/words.js";

const WRITERS = { ms: asTime, share: asShare, count: asCount };
const MINUTES = { dateStyle: "medium", timeStyle: "short" };
const DAY_S = 86_400;
const ZERO_TENTHS = /\.0(?=\u202f|$)/; // what no mark needs to say
const moments = new Intl.DateTimeFormat(undefined, MINUTES);
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const year = new Intl.DateTimeFormat(undefined, { year: "numeric" });

export function writerOf(unit) {
  return WRITERS[unit] ?? String;
}

// Writes the marks of the value axis.
export function asMarks(values, unit) {
  if (unit === "ms") return asScale(values);
  return values.map((value) => (value === 0 ? "0" : writerOf(unit)(value).replace(ZERO_TENTHS, "")));
}

// Writes a bucket in the reader's time zone. Days and weeks are in UTC and say so, because they may start at an odd hour.
export function asSpan(at, series) {
  const days = { day: "UTC day", week: "UTC week" }[series.bucket];
  const span = moments.formatRange(new Date(at), new Date(at + series.step));
  return days ? `${span} (${days})` : span;
}

// Writes the ticks of an axis at seconds since 1970: hours, or days, with the day or year below its first tick.
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
  if (point.low === null) return point.isTooFew ? "none: too few page views" : "not known";
  const [low, high] = [write(point.low), write(point.high)];
  const unitOf = (text) => /^(?:<\u202f)?[^\u202f]+(\u202f[^\u202f]+)$/.exec(text)?.[1];
  const shared = unitOf(low) === unitOf(high) ? unitOf(low) : undefined; // written once
  return `${shared ? low.slice(0, -shared.length) : low} to ${high}`;
}

export function asViews(point) {
  const of = point.looked < point.views ? `, interval from ${asCount(point.looked)}` : "";
  return counted(point.views, "page view") + of;
}

// Writes one point as a sentence, for the line below the chart and for screen readers.
export function describePoint(point, { what, unit }) {
  const interval = point.low !== null ? `95 % interval ${asInterval(point, unit)}` : `interval ${asInterval(point, unit)}`;
  return `${writerOf(unit)(point.value)} ${what}, ${interval}, n = ${asViews(point)}`;
}
