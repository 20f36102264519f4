// Mouse, touch and keyboard input of the tracks. It moves the view, which tracks and stack chart share.

const DRAG_PX = 4; // less is a click
const WHEEL_ZOOM = 0.0022;

// `tracks` and `timeline` return the current ones.
export function listenToTracks(canvas, graph, { tracks, timeline, onMark, onTime, showTime }) {
  let drag = null; // {x, isMoving}

  const placeOf = (event) => {
    const { left, top } = canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  };
  const point = (index) => {
    if (index === tracks().state.pointed) return;
    tracks().state.pointed = index;
    canvas.classList.toggle("pointed", index >= 0);
    graph.redraw();
  };
  const select = (index) => {
    tracks().state.focused = index;
    const mark = timeline().marks[index];
    const [from, to] = [tracks().timeAt(0), tracks().timeAt(tracks().state.width)];
    if (mark.start_ms + mark.duration_ms < from || mark.start_ms > to) showTime(mark.start_ms, mark.start_ms + mark.duration_ms);
    onMark(index, true);
    graph.redraw();
  };

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button === 0) drag = { x: event.clientX, isMoving: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = placeOf(event);
    if (!drag || !(event.buttons & 1)) {
      if (event.pointerType === "touch") return;
      const index = tracks().markAt(x, y);
      point(index);
      if (index >= 0) onMark(index, false);
      else onTime(tracks().timeAt(x));
      return;
    }
    const dx = event.clientX - drag.x;
    if (!drag.isMoving && Math.abs(dx) < DRAG_PX) return;
    if (!drag.isMoving) canvas.setPointerCapture(event.pointerId);
    graph.move({ shift: -dx / tracks().state.width });
    drag = { x: event.clientX, isMoving: true };
  });
  canvas.addEventListener("click", (event) => {
    const wasMoving = drag?.isMoving;
    drag = null;
    if (wasMoving) return;
    const [x, y] = placeOf(event);
    const index = tracks().markAt(x, y);
    if (index < 0) return onTime(tracks().timeAt(x));
    select(index);
    const mark = timeline().marks[index];
    if (mark.duration_ms) showTime(mark.start_ms, mark.start_ms + mark.duration_ms);
  });
  canvas.addEventListener("pointercancel", () => { drag = null; });
  canvas.addEventListener("pointerleave", () => { if (!drag) point(-1); });
  canvas.addEventListener("blur", () => { tracks().state.focused = -1; graph.redraw(); });
  canvas.addEventListener("wheel", (event) => {
    const isZoom = event.ctrlKey || event.metaKey || event.altKey;
    const aside = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (!isZoom && Math.abs(aside) <= (event.shiftKey ? 0 : Math.abs(event.deltaY))) return; // the page scrolls
    event.preventDefault();
    if (isZoom) graph.move({ at: placeOf(event)[0] / tracks().state.width, factor: Math.exp(event.deltaY * WHEEL_ZOOM) });
    else graph.move({ shift: aside / tracks().state.width });
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = timeline().marks.length - 1;
    const go = (index) => () => { if (last >= 0) select(Math.min(Math.max(index, 0), last)); };
    const act = {
      ArrowRight: event.shiftKey ? () => graph.move({ shift: 0.2 }) : go(tracks().state.focused + 1),
      ArrowLeft: event.shiftKey ? () => graph.move({ shift: -0.2 }) : go(tracks().state.focused - 1),
      Enter: () => {
        const mark = timeline().marks[tracks().state.focused];
        if (mark) showTime(mark.start_ms, mark.start_ms + mark.duration_ms);
      },
      Escape: () => graph.showRange({ from: 0, to: 1 }),
      Home: () => graph.showRange({ from: 0, to: 1 }),
      "+": () => graph.move({ factor: 0.5 }),
      "-": () => graph.move({ factor: 2 }),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
