// Draws the visible part of a laid-out tree on a canvas. Its work depends on the pixels, not on the nodes.
import { ALL } from "./tree.js";
import { firstEndingAfter } from "./layout.js";
import { asShare } from "./words.js";

const PADDING = 5;
const LEAST_TEXT = 26; // px: narrower bars have no room for text
const NOTE_GAP = 10; // px between a name and the note beside it
const LEAST_GAP = 4; // px: wider bars have a gap of one pixel

// `scene`: tree, layout, side, view {from, to}, top (px scrolled), width, height, ratio, rowHeight, isFlame, colourOf,
// fills, found, pointed, focused, firstDepth (1 where the row of all is not shown), theme {text, faded, fadedText, focus, card, font}, labels,
// noteOf(node): text next to the name if there is room, by default its share.
export function draw(context, scene) {
  const { layout, rowHeight, width, height, ratio } = scene;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = scene.theme.font;
  context.textBaseline = "middle";
  const charWidth = context.measureText("0").width;
  const texts = [];
  const bars = new Map([[scene.theme.faded, []]]); // by fill: changing the fill takes longer than drawing a bar
  for (let depth = scene.firstDepth; depth < layout.rows.length; depth++) {
    const y = topOf(scene, depth);
    if (y + rowHeight > 0 && y < height) placeRow(scene, layout.rows[depth], y, bars, texts);
  }
  drawBars(context, bars, rowHeight - 1);
  drawTexts(context, scene, texts, charWidth);
  outline(context, scene, scene.pointed, scene.theme.text, 1);
  outline(context, scene, scene.focused, scene.theme.focus, 2);
}

// The top of a row in the canvas, px.
export function topOf(scene, depth) {
  const { rowHeight, height, top } = scene;
  const row = depth - scene.firstDepth;
  return (scene.isFlame ? Math.max(heightOf(scene), height) - (row + 1) * rowHeight : row * rowHeight) - top;
}

// How high all rows are, px.
export function heightOf(scene) {
  return (scene.layout.rows.length - scene.firstDepth) * scene.rowHeight;
}

// The depth of the row at a height in the canvas.
export function depthAt(scene, y) {
  const { rowHeight, height, top } = scene;
  const fromRoot = scene.isFlame ? Math.max(heightOf(scene), height) - y - top : y + top;
  return Math.floor(fromRoot / rowHeight) + scene.firstDepth;
}

function placeRow(scene, row, y, bars, texts) {
  const { layout, view, width, ratio, found, colourOf, fills, theme } = scene;
  const scale = width / (view.to - view.from);
  const pixel = 1 / ratio;
  let drawnTo = -1; // px
  for (let index = firstEndingAfter(layout, row, view.from); index < row.length; index++) {
    const node = row[index];
    if (layout.x[node] >= view.to) break;
    const right = Math.min((layout.x[node] + layout.width[node] - view.from) * scale, width + 2);
    const isFaded = found !== null && !found[node];
    if (right < drawnTo + pixel && (found === null || isFaded)) continue; // this pixel already has a bar
    // A match is drawn even over its neighbours, so that it is always visible.
    const left = Math.max((layout.x[node] - view.from) * scale, found !== null && !isFaded ? 0 : drawnTo, 0);
    const from = Math.round(left * ratio) / ratio;
    const bar = Math.max(Math.round(right * ratio) / ratio - from, pixel);
    const wanted = isFaded ? theme.faded : fills[colourOf[node]];
    placeBar(bars, wanted, from, bar > LEAST_GAP ? bar - 1 : bar, y);
    drawnTo = Math.max(drawnTo, from + bar);
    if (bar >= LEAST_TEXT) texts.push(node, from, bar, y, isFaded ? 1 : 0);
  }
}

// Each fill has one list of x, width and y. A bar that begins where the last one ends is joined with it.
function placeBar(bars, fill, from, width, y) {
  if (!bars.has(fill)) bars.set(fill, []);
  const list = bars.get(fill);
  const last = list.length - 3;
  if (last >= 0 && list[last + 2] === y && list[last] + list[last + 1] === from) list[last + 1] += width;
  else list.push(from, width, y);
}

// Bars that do not match the search come first, so that matches are drawn over them.
function drawBars(context, bars, height) {
  for (const [fill, list] of bars) {
    context.fillStyle = fill;
    for (let at = 0; at < list.length; at += 3) context.fillRect(list[at], list[at + 2], list[at + 1], height);
  }
}

function drawTexts(context, scene, texts, charWidth) {
  const { tree, labels, theme, rowHeight, layout } = scene;
  for (let at = 0; at < texts.length; at += 5) {
    const [node, left, bar, y, isFaded] = texts.slice(at, at + 5);
    const label = node === ALL ? labels.all : labels.of[tree.func[node]];
    const room = bar - 2 * PADDING;
    const shown = cut(context, label, room, charWidth);
    if (!shown) continue;
    context.fillStyle = isFaded ? theme.fadedText : theme.text;
    context.fillText(shown, left + PADDING, y + rowHeight / 2);
    if (shown !== label || isFaded) continue;
    const used = context.measureText(label).width;
    const note = scene.noteOf?.(node) ?? asShare(layout.width[node]);
    if (room - used < context.measureText(note).width + NOTE_GAP) continue;
    context.globalAlpha = 0.72;
    context.fillText(note, left + PADDING + used + NOTE_GAP, y + rowHeight / 2);
    context.globalAlpha = 1;
  }
}

// Cuts a text to its room. Plain letters all have the same width; others are measured.
export function cut(context, text, room, charWidth) {
  if (text.length * charWidth <= room && isPlain(text)) return text;
  if (isPlain(text)) {
    const count = Math.floor(room / charWidth) - 1;
    return count < 2 ? "" : text.slice(0, count) + "…";
  }
  if (text.length < 400 && context.measureText(text).width <= room) return text;
  const letters = [...text.slice(0, Math.ceil(room / charWidth) * 2)];
  let [low, high] = [0, letters.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(letters.slice(0, middle).join("") + "…").width <= room) low = middle;
    else high = middle - 1;
  }
  return low < 2 ? "" : letters.slice(0, low).join("") + "…";
}

function isPlain(text) {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7e) return false;
  return true;
}

function outline(context, scene, node, colour, thickness) {
  if (node < 0) return;
  const { layout, view, width, rowHeight } = scene;
  const scale = width / (view.to - view.from);
  const left = Math.max((layout.x[node] - view.from) * scale, 0);
  const right = Math.min((layout.x[node] + layout.width[node] - view.from) * scale, width);
  if (right < 0 || left > width) return;
  const half = thickness / 2;
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  const bar = Math.max(right - left - 1, 2);
  context.strokeRect(left + half, topOf(scene, layout.depth[node]) + half, Math.max(bar - thickness, 1), rowHeight - 1 - thickness);
}
