// Mouse, touch and keyboard input of a flame graph.
import { ALL } from "./tree.js";
import { nodeAt, neighbour } from "./layout.js";

const DRAG_PX = 4; // less is a click
const WHEEL_ZOOM = 0.0022;

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

  on(canvas, "pointerdown", (event) => {
    if (event.button === 0) drag = { x: event.clientX, y: event.clientY, isMoving: false };
  });
  on(canvas, "pointermove", (event) => {
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
    const wasMoving = drag?.isMoving;
    drag = null;
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
    if (event.ctrlKey || event.metaKey || event.altKey || !scene.layout) return;
    const act = actionOf(event.key, graph);
    if (!act) return;
    event.preventDefault();
    act();
    graph.hasFocus(true);
  });
  return () => stopping.abort();
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
