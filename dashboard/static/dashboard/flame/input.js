// Mouse, touch and keyboard input of a flame graph.
import { ALL } from "./tree.js";
import { nodeAt, neighbour } from "./layout.js";

const DRAG_PX = 4; // less is a click
const WHEEL_ZOOM = 0.0022;
const LONG_PRESS_MS = 500; // as on phones
const PRESS_PX = 10; // a finger is never quite still

// Returns a function that stops listening.
export function listen(canvas, scroll, graph) {
  const { scene } = graph;
  const stopping = new AbortController();
  const on = (target, name, hear, options) => target.addEventListener(name, hear, { signal: stopping.signal, ...options });
  let drag = null; // {x, y, isMoving}

  const find = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    const x = scene.view.from + ((event.clientX - left) / scene.width) * (scene.view.to - scene.view.from);
    return scene.layout ? nodeAt(scene.layout, graph.depthAt(event.clientY - top), x) : -1;
  };

  let press = 0; // a finger that stays opens the menu
  let wasLong = false;
  const openMenu = (event) => {
    const node = find(event);
    if (node < 0 || !graph.callbacks.onMenu) return false;
    drag = null;
    graph.callbacks.onMenu(node, event.clientX, event.clientY);
    return true;
  };
  on(canvas, "contextmenu", (event) => {
    if (wasLong || (graph.callbacks.onMenu && isByKey(event)) || openMenu(event)) event.preventDefault();
  });

  on(canvas, "pointerdown", (event) => {
    if (event.button === 0) drag = { x: event.clientX, y: event.clientY, isMoving: false };
    wasLong = false;
    clearTimeout(press);
    if (event.pointerType === "touch" && event.isPrimary) press = setTimeout(() => { wasLong = openMenu(event); }, LONG_PRESS_MS);
  });
  for (const name of ["pointerup", "pointercancel", "pointerleave"]) on(canvas, name, () => clearTimeout(press));
  on(canvas, "touchend", (event) => { if (wasLong) event.preventDefault(); }); // no click follows, and the menu keeps the focus
  on(canvas, "pointermove", (event) => {
    if (drag && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > PRESS_PX) clearTimeout(press);
    if (!drag || !(event.buttons & 1)) {
      if (event.pointerType !== "touch") graph.point(find(event));
      return;
    }
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.isMoving && Math.hypot(dx, dy) < DRAG_PX) return;
    if (!drag.isMoving) canvas.setPointerCapture(event.pointerId);
    graph.move({ shift: -dx / scene.width });
    if (event.pointerType === "mouse") graph.scrollBy(-dy); // touch already scrolls
    drag = { x: event.clientX, y: event.clientY, isMoving: true };
    graph.point(-1);
  });
  on(canvas, "click", (event) => {
    const wasMoving = drag?.isMoving || wasLong;
    drag = null;
    wasLong = false;
    const node = wasMoving ? -1 : find(event);
    if (node < 0) return;
    graph.focusOn(node);
    graph.zoomTo(node);
  });
  on(canvas, "pointercancel", () => { drag = null; });
  on(canvas, "pointerleave", () => { if (!drag) graph.point(-1); });
  on(scroll, "scroll", () => graph.redraw(), { passive: true });
  on(canvas, "wheel", (event) => {
    const isZoom = event.ctrlKey || event.metaKey || event.altKey;
    const aside = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (!isZoom && Math.abs(aside) <= (event.shiftKey ? 0 : Math.abs(event.deltaY))) return; // the box scrolls
    event.preventDefault();
    const at = (event.clientX - canvas.getBoundingClientRect().left) / scene.width;
    if (isZoom) graph.move({ at, factor: Math.exp(event.deltaY * WHEEL_ZOOM) });
    else graph.move({ shift: aside / scene.width });
  }, { passive: false });
  on(canvas, "focus", () => graph.hasFocus(canvas.matches(":focus-visible")));
  on(canvas, "blur", () => graph.hasFocus(false));
  on(canvas, "keydown", (event) => {
    if ((event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) && scene.layout && graph.callbacks.onMenu) {
      event.preventDefault();
      const { x, y } = graph.cornerOf(graph.focus);
      return graph.callbacks.onMenu(graph.focus, x, y);
    }
    if (event.ctrlKey || event.metaKey || event.altKey || !scene.layout) return;
    const act = actionOf(event.key, graph);
    if (!act) return;
    event.preventDefault();
    act();
    graph.hasFocus(true);
  });
  return () => stopping.abort();
}

// The menu key and Shift+F10 are heard as keys: their event names no bar.
function isByKey(event) {
  return event.pointerType === "" || (event.button === 0 && event.pointerType === undefined);
}

function actionOf(key, graph) {
  const { scene } = graph;
  const go = (direction) => () => graph.focusOn(neighbour(scene.layout, scene.tree, graph.focus, direction));
  const [towardsRoot, away] = scene.isFlame ? ["ArrowDown", "ArrowUp"] : ["ArrowUp", "ArrowDown"];
  return {
    [towardsRoot]: go("caller"),
    [away]: go("callee"),
    ArrowLeft: go("previous"),
    ArrowRight: go("next"),
    Enter: () => graph.zoomTo(graph.focus),
    " ": () => graph.zoomTo(graph.focus),
    Escape: () => graph.zoomOut(),
    Home: () => { graph.zoomTo(ALL); graph.focusOn(ALL); },
    "+": () => graph.move({ factor: 0.5 }),
    "-": () => graph.move({ factor: 2 }),
    s: () => { if (graph.focus !== ALL) graph.callbacks.onSandwich?.(scene.tree.func[graph.focus]); },
  }[key];
}
