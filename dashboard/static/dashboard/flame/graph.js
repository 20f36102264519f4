// One flame graph on a canvas, with its zoom, the node under the pointer, and the focused node.
import { ALL } from "./tree.js";
import { layOut, moveView, zoomOn } from "./layout.js";
import { depthAt, draw, heightOf, topOf } from "./draw.js";
import { makeHatch, readColours } from "./colours.js";
import { nameOf } from "./words.js";
import { listen } from "./input.js";

const ZOOM_MS = 160;
const MAX_PRINT_PX = 6_000;
const THEME = ["--flame-text", "--flame-faded", "--flame-faded-text", "--focus", "--mono"];
const isCalm = matchMedia("(prefers-reduced-motion: reduce)");
const isCoarse = matchMedia("(pointer: coarse)");
const isPrinting = matchMedia("print");
// Listened to, and never read: Chromium sends no event to a list that was read between the change and the event.
const themes = ["print", "(prefers-color-scheme: dark)"].map((query) => matchMedia(query));

// `scroll` contains a box as high as the tree, and the box contains the canvas, as high as the visible part.
// `isPart`: the tree is of one function, whose bar is the first row; there is no bar for all calls.
// Callbacks: onPoint(node or -1, isKeyboard), onZoom(isNarrowed), onSandwich(func), onDraw(scene), onMenu(node, x, y),
// onStep(isBack) after a zoom to a node, onChoose() after another node was chosen, goBack(): true if it zooms out by itself.
export function makeGraph({ canvas, isFlame = false, isPart = false, ...callbacks }) {
  const box = canvas.parentElement;
  const scroll = box.parentElement;
  const context = canvas.getContext("2d");
  const scene = {
    tree: null, layout: null, side: "head", view: { from: 0, to: 1 }, top: 0, width: 0, height: 0, ratio: 1,
    rowHeight: isCoarse.matches ? 26 : 20, isFlame, colourOf: null, fills: [], found: null, pointed: -1, focused: -1,
    theme: null, labels: { all: "All script time", of: [] }, firstDepth: isPart ? 1 : 0,
  };
  let colours = null;
  let frame = 0;
  let current = ALL; // the node that fills the width
  let history = [];
  let focus = ALL;
  let stopListening = null;

  const api = {
    scene,
    get zoomed() { return current; },
    get focus() { return focus; },
    // `layout` replaces the layout by weight.
    show(tree, made, side = "head", layout = layOut(tree, side)) {
      Object.assign(scene, { tree, side, layout, view: { from: 0, to: 1 }, found: null, pointed: -1 });
      scene.labels.of = tree.funcs.map(nameOf);
      [current, focus, history] = [ALL, isPart ? 1 : ALL, []];
      tellZoom(scene.view);
      api.setColours(made);
      resize();
      if (scene.isFlame) scroll.scrollTop = scroll.scrollHeight;
    },
    setColours(made) {
      colours = made;
      restyle();
    },
    setFound(found) { scene.found = found; api.redraw(); },
    setGrowing(wanted) {
      scene.isFlame = wanted;
      scroll.scrollTop = wanted ? scroll.scrollHeight : 0;
      api.redraw();
    },
    redraw() {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        scene.top = isPrinting.matches ? 0 : scroll.scrollTop;
        if (!scene.layout) return;
        if (scene.width) draw(context, scene); // width 0: the graph is hidden
        callbacks.onDraw?.(scene);
      });
    },
    hasFocus(is) { scene.focused = is ? focus : -1; api.redraw(); },
    point(node) {
      if (node === scene.pointed) return;
      scene.pointed = node;
      canvas.classList.toggle("pointed", node >= 0);
      callbacks.onPoint?.(node >= 0 ? node : focus, false);
      api.redraw();
    },
    focusOn(node) {
      if (node === ALL && isPart) return;
      focus = node;
      scene.pointed = -1;
      if (document.activeElement === canvas) scene.focused = node;
      reveal(node);
      callbacks.onPoint?.(node, true);
      callbacks.onChoose?.();
      api.redraw();
    },
    // Zooms to a node and chooses another, as an address says. A node without width on this side is its caller.
    restore(zoomed, chosen) {
      const seen = (node) => {
        let at = node;
        while (at !== ALL && !(scene.layout.width[at] > 0)) at = scene.tree.prefix[at];
        return at;
      };
      [current, focus, history] = [seen(zoomed), seen(chosen), []];
      const wanted = zoomOn(scene.layout, current);
      if (focus === current) moveTo(wanted);
      else {
        cancelAnimationFrame(moving);
        scene.view = wanted;
      }
      tellZoom(wanted);
      if (focus !== ALL) reveal(focus, focus !== current);
      api.redraw();
    },
    zoomTo(node, { isBack = false } = {}) {
      if (node === current && scene.view.to - scene.view.from === scene.layout.width[node]) return;
      if (!isBack) history.push(current);
      current = node;
      const wanted = zoomOn(scene.layout, node);
      moveTo(wanted);
      tellZoom(wanted);
      callbacks.onStep?.(isBack);
    },
    // Shows any part of the whole.
    showRange(view) {
      [current, history] = [ALL, []];
      moveTo(view);
      tellZoom(view);
    },
    zoomOut() { if (!callbacks.goBack?.()) api.zoomTo(history.pop() ?? ALL, { isBack: true }); },
    move(how) {
      cancelAnimationFrame(moving);
      scene.view = moveView(scene.view, how);
      if (scene.view.to - scene.view.from >= 1) [current, history] = [ALL, []];
      tellZoom(scene.view);
      callbacks.onChoose?.();
      api.redraw();
    },
    // The place of a node's lower left corner in the window, px.
    cornerOf(node) {
      const { left, top } = canvas.getBoundingClientRect();
      const { view, width, layout, rowHeight } = scene;
      const x = ((layout.x[node] - view.from) / (view.to - view.from)) * width;
      return { x: left + Math.min(Math.max(x, 0), width), y: top + topOf(scene, layout.depth[node]) + rowHeight };
    },
    // Moves to the heaviest match, and with each further call to the next one.
    toNextMatch() {
      const { tree, found, layout, side } = scene;
      const matches = [...(found ?? []).keys()].filter((node) => found[node] && layout.width[node] > 0);
      if (!matches.length) return;
      const total = tree[side].total;
      matches.sort((a, b) => total[b] - total[a] || a - b);
      api.focusOn(matches[(matches.indexOf(focus) + 1) % matches.length]);
      api.hasFocus(true);
    },
    depthAt: (y) => depthAt(scene, y),
    scrollBy(px) { scroll.scrollTop += px; },
    callbacks,
    stop() {
      observer.disconnect();
      stopListening();
      for (const query of themes) query.removeEventListener("change", onTheme);
    },
  };

  function tellZoom(view) {
    callbacks.onZoom?.(view.to - view.from < 1);
  }

  let moving = 0;
  function moveTo(wanted) {
    cancelAnimationFrame(moving);
    const before = scene.view;
    const started = performance.now();
    const step = (now) => {
      const done = isCalm.matches || document.hidden ? 1 : Math.min(1, Math.max(0, now - started) / ZOOM_MS);
      const eased = 1 - (1 - done) ** 3;
      scene.view = done === 1 ? wanted : {
        from: before.from + (wanted.from - before.from) * eased,
        to: before.to + (wanted.to - before.to) * eased,
      };
      api.redraw();
      if (done < 1) moving = requestAnimationFrame(step);
    };
    step(started);
  }

  // Scrolls and zooms so that a node that the keyboard moved to is visible.
  function reveal(node, isAside = true) {
    const { layout, view, width, rowHeight } = scene;
    const [from, part] = [layout.x[node], layout.width[node]];
    const shown = view.to - view.from;
    if (!isAside) scene.top = scroll.scrollTop; // a zoom brings it in from the side
    else if ((part / shown) * width < 3) {
      const wanted = Math.min(1, (part * width) / 40);
      const left = Math.min(Math.max(from + part / 2 - wanted / 2, 0), 1 - wanted);
      scene.view = { from: left, to: left + wanted };
    } else if (from + part <= view.from || from >= view.to) {
      const left = Math.min(Math.max(from + part / 2 - shown / 2, 0), 1 - shown);
      scene.view = { from: left, to: left + shown };
    }
    const y = topOf(scene, layout.depth[node]);
    if (y < 0) scroll.scrollTop += y;
    else if (y + rowHeight > scroll.clientHeight) scroll.scrollTop += y + rowHeight - scroll.clientHeight;
  }

  function restyle() {
    const [text, faded, fadedText, focusColour, mono] = readColours(THEME);
    scene.theme = { text, faded, fadedText, focus: focusColour, font: `12px ${mono}` };
    if (colours) {
      scene.colourOf = colours.of;
      const fills = readColours(colours.entries.map((entry) => entry.property));
      scene.fills = fills.map((fill, n) => (colours.entries[n].isHatched ? makeHatch(context, fill) : fill));
    }
    api.redraw();
  }

  function resize() {
    if (!scene.layout) return;
    const content = heightOf(scene);
    box.style.height = `${content}px`;
    scene.width = scroll.clientWidth;
    scene.height = Math.min(content, isPrinting.matches ? MAX_PRINT_PX : Math.max(scroll.clientHeight, 1));
    scene.ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${scene.height}px`;
    canvas.width = Math.round(scene.width * scene.ratio);
    canvas.height = Math.round(scene.height * scene.ratio);
    api.redraw();
  }

  const onTheme = () => { restyle(); resize(); };
  for (const query of themes) query.addEventListener("change", onTheme);
  const observer = new ResizeObserver(resize);
  observer.observe(scroll);
  stopListening = listen(canvas, scroll, api);
  return api;
}
