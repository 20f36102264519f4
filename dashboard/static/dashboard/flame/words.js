// Figures and names in words, as the server writes them.

const THIN = "\u202f"; // narrow, and no line breaks at it
const SECONDS_FROM_MS = 10_000;
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

function fixed(number) {
  return number.toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 }).replaceAll(",", THIN);
}

export function asTime(ms) {
  if (ms > 0 && ms < 0.05) return `<${THIN}0.1${THIN}ms`;
  return ms >= SECONDS_FROM_MS ? `${fixed(ms / 1000)}${THIN}s` : `${fixed(ms)}${THIN}ms`;
}

export function asChange(ms) {
  if (Math.abs(ms) < 0.05) return `±${THIN}0.0${THIN}ms`;
  return (ms < 0 ? "−" : "+") + asTime(Math.abs(ms));
}

export function asShare(part) {
  if (!Number.isFinite(part)) return "–";
  if (part > 0 && part < 0.0005) return `<${THIN}0.1${THIN}%`;
  return `${fixed(part * 100)}${THIN}%`;
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

// What to call a function, and where it is defined: `file:line:column`.
export function nameOf(func) {
  return visible(func.label);
}

export function placeOf(func) {
  const address = addressOf(func);
  if (address === null) return func.isGroup ? "several functions" : "built-in";
  const { line, column } = func.original ?? func;
  const path = address.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, "");
  const file = path.split("/").filter(Boolean).pop() ?? address;
  const place = visible([file, line, column].filter((part) => part !== null).join(":"));
  return nameOf(func).endsWith(place) ? "" : place; // an anonymous function is named by its place
}

// Where its file is: the original's where a source map tells it, null for a built-in.
export function addressOf(func) {
  return func.original?.source ?? func.uri;
}
