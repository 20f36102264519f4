// Numbers and names as text, by the same rules as the server: `profcore/numbers.py` has them for templates.

const THIN = "\u202f"; // narrow, and no line breaks at it
const LEAST_MS = 0.05; // less than this rounds to nothing
const MAX_HOURS = 100; // from here on minutes say nothing
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const round = (number) => Math.floor(number + 0.5); // half up, as the server does

// Writes ms with at most three digits and the unit that a person would say: `41 ms`, `1.30 s`, `2 min 5 s`.
export function asTime(ms) {
  if (ms < 0) return ms > -LEAST_MS ? asTime(0) : `−${asTime(-ms)}`;
  if (ms > 0 && ms < LEAST_MS) return `<${THIN}0.1${THIN}ms`;
  const tenths = round(ms * 10);
  if (tenths < 1_000) return `${tenths % 10 ? (tenths / 10).toFixed(1) : tenths / 10}${THIN}ms`;
  if (round(ms) < 1_000) return `${round(ms)}${THIN}ms`;
  return asSeconds(ms / 1_000);
}

function asSeconds(seconds) {
  if (round(seconds * 100) < 1_000) return `${(round(seconds * 100) / 100).toFixed(2)}${THIN}s`;
  if (round(seconds * 10) < 600) return `${(round(seconds * 10) / 10).toFixed(1)}${THIN}s`;
  if (round(seconds) < 3_600) return asPair(round(seconds), "min", "s");
  const hours = round(seconds / 3_600);
  return hours < MAX_HOURS ? asPair(round(seconds / 60), "h", "min") : `${asCount(hours)}${THIN}h`;
}

// `2 min 5 s` for 125 of the small unit, `2 min` for 120.
function asPair(count, large, small) {
  const rest = count % 60;
  return `${(count - rest) / 60}${THIN}${large}${rest ? `${THIN}${rest}${THIN}${small}` : ""}`;
}

export function asChange(ms) {
  if (Math.abs(ms) < LEAST_MS) return `±${asTime(0)}`;
  return (ms < 0 ? "−" : "+") + asTime(Math.abs(ms));
}

const MILLISECONDS = { word: "ms", ms: 1, decimals: 1 };
// Each with the time from which on a column has it, ms.
const LARGER_UNITS = [
  [36_000_000, { word: "h", ms: 3_600_000, decimals: 2 }],
  [600_000, { word: "min", ms: 60_000, decimals: 2 }],
  [999.5, { word: "s", ms: 1_000, decimals: 3 }],
];

// The unit of a column of times, ms: that of its largest value, so that all can be compared at a glance.
export function chooseUnit(values) {
  const largest = values.reduce((most, ms) => Math.max(most, Math.abs(ms)), 0);
  return LARGER_UNITS.find(([least]) => largest >= least)?.[1] ?? MILLISECONDS;
}

const isNothing = (ms, unit) => round((Math.abs(ms) / unit.ms) * 10 ** unit.decimals) === 0;

// Writes ms in the unit of its column, with up to three digits: `0.891 s`.
export function asTimeIn(ms, unit) {
  if (ms < 0) return isNothing(ms, unit) ? asTimeIn(0, unit) : `−${asTimeIn(-ms, unit)}`;
  if (ms > 0 && isNothing(ms, unit)) return `<${THIN}${(10 ** -unit.decimals).toFixed(unit.decimals)}${THIN}${unit.word}`;
  const number = ms / unit.ms;
  let decimals = number ? Math.min(unit.decimals, Math.max(0, 2 - Math.floor(Math.log10(number)))) : 0;
  if (decimals && round(number * 10 ** decimals) >= 1_000) decimals -= 1; // 9.996 is 10.0, and not 10.00
  const rounded = round(number * 10 ** decimals) / 10 ** decimals;
  if (unit.word === "ms" && Number.isInteger(rounded)) decimals = 0;
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return rounded.toLocaleString("en-US", digits).replaceAll(",", THIN) + THIN + unit.word;
}

export function asChangeIn(ms, unit) {
  if (isNothing(ms, unit)) return `±${asTimeIn(0, unit)}`;
  return (ms < 0 ? "−" : "+") + asTimeIn(Math.abs(ms), unit);
}

// The marks of an axis, ms: all in the unit of the highest, without zeros at their ends.
export function asScale(values) {
  const isSeconds = Math.max(0, ...values.map(Math.abs)) >= 1_000;
  const write = (number) => number.toLocaleString("en-US", { maximumFractionDigits: 6 }).replaceAll(",", THIN).replace("-", "−");
  return values.map((ms) => (ms === 0 ? "0" : isSeconds ? `${write(ms / 1_000)}${THIN}s` : `${write(ms)}${THIN}ms`));
}

export function asShare(part) {
  if (!Number.isFinite(part)) return "–";
  if (part < 0) return `−${asShare(-part)}`;
  if (part > 0 && part < 0.0005) return `<${THIN}0.1${THIN}%`;
  const tenths = round(part * 1_000);
  return tenths < 1_000 ? `${(tenths / 10).toFixed(1)}${THIN}%` : `${asCount(round(part * 100))}${THIN}%`;
}

export function asCount(number) {
  return number.toLocaleString("en-US").replaceAll(",", THIN);
}

export function counted(number, word) {
  return `${asCount(number)} ${word}${number === 1 ? "" : "s"}`;
}

// Makes control and direction characters visible: a name must not hide or reorder what stands around it.
export function visible(text) {
  return text.replace(UNSEEN, (char) => {
    const code = char.codePointAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "\u2421" : `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

// Returns the name of a function.
export function nameOf(func) {
  return visible(func.label);
}

// Returns where a function is defined: `file:line:column`.
export function placeOf(func) {
  const address = addressOf(func);
  if (address === null) return func.isGroup ? "several functions" : "built-in";
  const { line, column } = func.original ?? func;
  const path = address.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, "");
  const file = path.split("/").filter(Boolean).pop() ?? address;
  const place = visible([file, line, column].filter((part) => part !== null).join(":"));
  return nameOf(func).endsWith(place) ? "" : place; // an anonymous function is named by its place
}

// Returns the address of its file: the original from a source map if there is one, null for a built-in.
export function addressOf(func) {
  return func.original?.source ?? func.uri;
}
