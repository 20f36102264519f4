// Fetches the progress of the first trace: every two seconds, less often while nothing changes, and not while the page is
// hidden or after the trace is folded.
const FIRST_MS = 2_000;
const MOST_MS = 30_000;
const GROWTH = 1.2;

const part = document.getElementById("first-steps");
const state = document.getElementById("progress-state");
const said = document.getElementById("parts-said");
let wait = FIRST_MS;
let timer = null;

const words = () => part.firstElementChild?.dataset.said ?? "";
const isDone = () => part.firstElementChild?.dataset.done !== undefined;
let heard = words();

function plan() {
  clearTimeout(timer);
  if (isDone()) state.textContent = "";
  else if (document.hidden) state.textContent = "Paused while this page is hidden";
  else {
    state.textContent = wait < MOST_MS ? "Updates automatically" : "Updates every 30 seconds";
    timer = setTimeout(() => window.htmx.trigger(part, "again"), wait);
  }
}

if (part && state) {
  part.addEventListener("htmx:afterSwap", () => {
    wait = words() === heard ? Math.min(wait * GROWTH, MOST_MS) : FIRST_MS;
    if (words() !== heard) said.textContent = heard = words();
    plan();
  });
  // Keep trying while a server restarts; parts.js shows the error.
  for (const failure of ["htmx:responseError", "htmx:sendError", "htmx:timeout"]) {
    part.addEventListener(failure, () => { wait = MOST_MS; plan(); });
  }
  document.addEventListener("visibilitychange", () => {
    wait = FIRST_MS;
    if (document.hidden || isDone()) plan();
    else window.htmx.trigger(part, "again");
  });
  plan();
}
