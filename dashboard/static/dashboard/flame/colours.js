// Chooses the colour of each node: by its function's category, package or file, or by its change between two sides.
// The colours are custom properties of the style sheet, one set for each theme.
import { ALL } from "./tree.js";
import { isNoise, stateOf } from "./noise.js";
import { addressOf } from "./words.js";

const NAMES = 9; // the heaviest packages or files have their own colour; more colours would look alike
const TOO_PLAIN = 0.8; // of script time: one colour with more than this says nothing
// Shares of script time per view: changes below the first are negligible, above the last they are large.
const STEPS = [0.005, 0.02, 0.05];
const HATCH_PX = 8;
const NOISE_WORDS = {
  known: "could be noise, or a function without source map that only moved",
  awaited: "checking for noise…",
  unknown: "not checked for noise here",
};

// Returns {of, entries}: `of[node]` indexes `entries`, each {property, word, share}; share is of self time, or null.
// The colour of a display rule comes before category and package, but not before a change.
export function colourTree(tree, by, words) {
  if (by === "change" && tree.base) return byChange(tree);
  if (by === "package") return byName(tree, (func) => func.package, { none: "No package", rest: "Other packages" });
  if (by === "file") return byName(tree, addressOf, { none: "Built-in", rest: "Other files", wordOf: shortOf });
  return byCategory(tree, words);
}

// Returns by what a tree is coloured if nobody chose: by category, unless one category has nearly all of the time. Then by
// package, unless most of the code has none, or by file.
export function chooseColour(tree, words) {
  const sharesBy = (by) => colourTree(tree, by, words).entries;
  const isPlain = (entries) => Math.max(...entries.map((entry) => entry.share)) > TOO_PLAIN;
  if (!isPlain(sharesBy("category"))) return "category";
  const packages = sharesBy("package");
  const none = packages.find((entry) => entry.property === "--flame-none").share;
  if (!isPlain(packages) && none < 0.5) return "package";
  return isPlain(sharesBy("file")) ? "category" : "file";
}

function byCategory(tree, words) {
  const entries = [{ property: "--flame-all", word: "" }];
  for (const [category, word] of words) entries.push({ property: `--flame-${category}`, word, category });
  entries.push({ property: "--flame-unknown", word: "Unknown", category: null });
  return byFunc(tree, entries, (func) => entries.findIndex((entry) => entry.category === func.category));
}

// Each of the heaviest names has a colour: the one that its letters lead to, or the next free one if a heavier name has
// it. So a name keeps its colour from page to page.
function byName(tree, nameOf, { none, rest, wordOf = (name) => name }) {
  const names = tree.funcs.map(nameOf);
  const self = new Map();
  for (let node = 1; node < tree.count; node++) {
    const name = names[tree.func[node]];
    if (name) self.set(name, (self.get(name) ?? 0) + tree.head.self[node]);
  }
  const heaviest = [...self.keys()].sort((a, b) => self.get(b) - self.get(a) || (a < b ? -1 : 1));
  const entries = [{ property: "--flame-all", word: "" }, { property: "--flame-none", word: none }];
  const taken = new Set();
  const places = new Map();
  for (const name of heaviest.slice(0, NAMES)) {
    let colour = hashOf(name) % NAMES;
    while (taken.has(colour)) colour = (colour + 1) % NAMES;
    taken.add(colour);
    places.set(name, entries.push({ property: `--flame-name-${colour + 1}`, word: wordOf(name, heaviest) }) - 1);
  }
  if (heaviest.length > NAMES) entries.push({ property: "--flame-name-rest", word: rest });
  const last = entries.length - 1;
  return byFunc(tree, entries, (func, index) => (names[index] ? places.get(names[index]) ?? last : 1));
}

// FNV-1a: the same for a name wherever it is.
function hashOf(name) {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193) >>> 0;
  return (hash ^ (hash >>> 15)) >>> 0;
}

// The last part of an address, or the last two if other files have the same.
function shortOf(address, all) {
  const parts = (text) => text.split(/[?#]/)[0].split("/").filter(Boolean);
  const own = parts(address);
  const isShared = all.some((other) => other !== address && parts(other).at(-1) === own.at(-1));
  return own.slice(isShared ? -2 : -1).join("/") || address;
}

function byFunc(tree, entries, find) {
  const ruled = [...new Set(tree.funcs.map((func) => func.colour).filter(Boolean))].sort();
  const first = entries.length;
  entries.push(...ruled.map((colour) => ({ property: `--shown-${colour}`, word: `${colour}, by display rules` })));
  const ofFunc = tree.funcs.map((func, index) => (func.colour ? first + ruled.indexOf(func.colour) : find(func, index)));
  const of = new Uint8Array(tree.count);
  const shares = entries.map(() => 0);
  let whole = 0;
  for (let node = 1; node < tree.count; node++) {
    of[node] = ofFunc[tree.func[node]];
    shares[of[node]] += tree.head.self[node];
    whole += tree.head.self[node];
  }
  return { of, entries: entries.map((entry, n) => ({ ...entry, share: whole ? shares[n] / whole : 0 })) };
}

function byChange(tree) {
  const whole = Math.max(tree.head.total[0], tree.base.total[0]) || 1;
  const percent = (part) => `${part * 100} %`;
  const ranges = [
    `${percent(STEPS[0])} to ${percent(STEPS[1])}`,
    `${percent(STEPS[1])} to ${percent(STEPS[2])}`,
    `over ${percent(STEPS[2])}`,
  ];
  const entries = [
    { property: "--flame-same", word: `below ${percent(STEPS[0])} of script time per view`, share: null },
    ...ranges.map((word, n) => ({ property: `--flame-more-${n + 1}`, word: `+ ${word}`, share: null })),
    ...ranges.map((word, n) => ({ property: `--flame-less-${n + 1}`, word: `− ${word}`, share: null })),
  ];
  const state = stateOf(tree);
  const noise = entries.push({ property: state === "unknown" ? "--flame-none" : "--flame-noise", word: NOISE_WORDS[state], share: null, isHatched: state !== "unknown" }) - 1;
  const all = entries.push({ property: "--flame-all", word: "" }) - 1; // the sum of all functions is not judged
  const of = new Uint8Array(tree.count);
  for (let node = 0; node < tree.count; node++) {
    const change = (tree.head.total[node] - tree.base.total[node]) / whole;
    const step = STEPS.filter((least) => Math.abs(change) >= least).length;
    if (node === ALL && state !== "unknown") of[node] = all;
    else if (step && isNoise(tree, node)) of[node] = noise;
    else of[node] = step === 0 ? 0 : change > 0 ? step : STEPS.length + step;
  }
  return { of, entries };
}

// Returns a hatched fill of a colour, for changes that could be noise.
export function makeHatch(context, colour) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = HATCH_PX;
  const brush = tile.getContext("2d");
  brush.fillStyle = colour;
  brush.fillRect(0, 0, HATCH_PX, HATCH_PX);
  [brush.strokeStyle] = readColours(["--flame-noise-line"]);
  brush.beginPath();
  for (const shift of [-HATCH_PX, 0, HATCH_PX]) { // one line, with its ends in the neighbouring tiles
    brush.moveTo(shift - 1, HATCH_PX + 1);
    brush.lineTo(shift + HATCH_PX + 1, -1);
  }
  brush.stroke();
  return context.createPattern(tile, "repeat");
}

// Returns the values of custom properties in the current theme.
export function readColours(properties) {
  const style = getComputedStyle(document.documentElement);
  return properties.map((name) => style.getPropertyValue(name).trim());
}
