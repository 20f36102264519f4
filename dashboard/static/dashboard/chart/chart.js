// Time series: `<figure class="chart" data-chart-url="…">` fetches its lines and draws them with uPlot. Mouse, touch and
// keyboard show single points; a table below has the same numbers. The markup is in templates/dashboard/layout/_chart.html.
import { Brush } from "./brush.js";
import { colourOf, plot, showLine } from "./plot.js";
import { moveBy, nearestLine, placeMarks, readSeries } from "./series.js";
import { makeTable } from "./table.js";
import { asSpan, describePoint } from "./words.js";
import { make } from "../flame/dom.js";
import { visible } from "../flame/words.js";

const HEIGHT_PX = 220;
const NARROW_HEIGHT_PX = 180;
const NARROW_PX = 520;
const PAPER_PX = 620; // within a card, between the margins of A4 or Letter
const MAX_NAME = 24; // characters of a mark's name
const KEYS = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];
const dark = matchMedia("(prefers-color-scheme: dark)");

class Chart {
  constructor(figure) {
    this.figure = figure;
    this.status = figure.querySelector(".chart-status");
    this.load();
  }

  get words() {
    return { what: this.figure.dataset.chartWhat, unit: this.figure.dataset.chartUnit };
  }

  async load() {
    this.figure.setAttribute("aria-busy", "true");
    this.say("Loading…");
    try {
      const answer = await fetchAnswer(this.figure.dataset.chartUrl);
      const { chartValue: value, chartName: name, chartWhole: whole } = this.figure.dataset;
      this.series = readSeries(answer, { value, name, whole });
      if (this.series.times.length) this.show();
      else this.say(this.figure.dataset.chartEmpty);
    } catch (problem) {
      this.fail(problem);
    } finally {
      this.figure.removeAttribute("aria-busy");
    }
  }

  say(words, ...more) {
    this.status.replaceChildren(words, ...more);
    this.status.hidden = !words;
  }

  fail(problem) {
    const again = make("button", { type: "button", textContent: "Try again" });
    again.addEventListener("click", () => this.load());
    this.say(`${problem.message} `, problem.canRetry === false ? "" : again);
    if (!(problem instanceof Problem)) console.error(problem);
  }

  show() {
    this.say("");
    this.shown = this.series.lines.map(() => true);
    this.at = null;
    this.brush = "chartBrush" in this.figure.dataset ? new Brush(this.series) : null;
    this.marks = placeMarks(this.series, JSON.parse(this.figure.dataset.chartMarks || "[]")).map(({ name, at }) => ({ name: shorten(visible(name)), at }));
    const narrowing = this.brush ? " Shift with left and right chooses a time, and Enter shows it." : "";
    const keys = `Arrow keys: left and right along a line, up and down between lines.${narrowing}`;
    const label = `${this.figure.querySelector("figcaption").textContent.trim()}. ${keys}`;
    this.target = make("div", { className: "chart-plot", tabIndex: 0, role: "application", aria: { roledescription: "chart", label } });
    this.readout = make("p", { className: "chart-readout", role: "status" });
    this.legend = this.makeLegend();
    this.figure.querySelector(".chart-body").replaceChildren(this.legend, this.target, this.readout, makeTable(this.series, this.words));
    this.tell(null);
    this.draw();
    this.listen();
  }

  makeLegend() {
    const items = this.series.lines.map((line, index) => {
      const name = make("bdi", { textContent: visible(line.name) });
      const button = make("button", { type: "button", className: "quiet", aria: { pressed: "true" } }, swatch(index), name);
      button.addEventListener("click", () => this.toggle(index, button));
      return make("li", {}, button);
    });
    return make("ul", { className: "legend chart-legend", aria: { label: "Lines shown" }, hidden: items.length < 2 }, ...items);
  }

  toggle(index, button) {
    this.shown[index] = !this.shown[index];
    button.setAttribute("aria-pressed", String(this.shown[index]));
    if (this.at?.line === index) this.tell(null);
    showLine(this.plot, index, this.shown[index]);
  }

  size(width = this.target.clientWidth) {
    return { width: Math.max(width, 120), height: width < NARROW_PX ? NARROW_HEIGHT_PX : HEIGHT_PX };
  }

  draw(width) {
    this.plot?.destroy();
    this.plot = plot(this.target, this.figure, this, this.size(width), (found) => this.point(found));
  }

  listen() {
    if (this.isListening) return;
    this.isListening = true;
    new ResizeObserver(() => this.plot.setSize(this.size())).observe(this.target);
    dark.addEventListener("change", () => this.draw());
    addEventListener("beforeprint", () => this.onPaper(true));
    addEventListener("afterprint", () => this.onPaper(false));
    this.target.addEventListener("keydown", (event) => this.onKey(event));
    this.target.addEventListener("blur", () => this.mark(null));
    addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.brush?.drop(this.plot, true); // also in the middle of a drag
    });
    this.target.addEventListener("mousedown", () => { if (this.brush) this.brush.isDropped = false; }, { capture: true });
  }

  // Paper is light and has a fixed width.
  onPaper(isPaper) {
    this.figure.classList.toggle("on-paper", isPaper);
    this.draw(isPaper ? PAPER_PX : undefined);
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") this.mark(null);
    if (event.key === "Enter" && this.brush?.enter()) event.preventDefault();
    if (!KEYS.includes(event.key)) return;
    event.preventDefault();
    const from = this.at;
    this.mark(moveBy(event.key, this.series, this.shown, this.at));
    if (!this.brush || !this.at) return;
    if (event.shiftKey && event.key.startsWith("Arrow")) this.brush.extend(this.plot, from?.at ?? this.at.at, this.at.at);
    else if (this.brush.part) this.brush.drop(this.plot);
  }

  point(found) {
    if (!found) return this.mark(null);
    const line = nearestLine(this.series, this.shown, found.at, found.value);
    this.mark(line === null ? null : { line, at: found.at });
  }

  mark(at) {
    if (at?.line === this.at?.line && at?.at === this.at?.at) return;
    this.tell(at);
    this.plot.redraw(false, false);
  }

  tell(at) {
    this.at = at;
    if (!at) {
      const narrowing = this.brush ? " Drag to choose a shorter time." : "";
      const hint = `Point at the chart or use the arrow keys.${narrowing} Bands are 95 % intervals; hollow points have too few page views for one.`;
      return this.readout.replaceChildren(make("span", { className: "muted", textContent: hint }));
    }
    const line = this.series.lines[at.line];
    this.readout.replaceChildren(
      swatch(at.line),
      make("b", {}, make("bdi", { textContent: visible(line.name) })),
      ` · ${describePoint(line.points[at.at], this.words)} · ${asSpan(this.series.times[at.at], this.series)}`,
    );
  }
}

function swatch(line) {
  return make("span", { className: `chart-key ${colourOf(line)}`, ariaHidden: "true" });
}

function shorten(name) {
  return name.length > MAX_NAME ? `${name.slice(0, MAX_NAME - 1)}…` : name;
}

// An error with a message for the user.
class Problem extends Error {
  constructor(words, canRetry) {
    super(words);
    this.canRetry = canRetry;
  }
}

async function fetchAnswer(url) {
  let response;
  try {
    response = await fetch(url, { credentials: "same-origin" });
  } catch {
    throw new Problem("The server did not answer. Check the connection.", true);
  }
  if (response.ok) return response.json();
  if (response.status === 401) throw new Problem("You are logged out. Reload this page and log in.", false);
  const { detail } = await response.json().catch(() => ({}));
  throw new Problem(detail ?? `The server failed (status ${response.status}).`, response.status >= 500);
}

const mounted = new WeakSet();

function mount() {
  for (const figure of document.querySelectorAll("figure.chart[data-chart-url]")) {
    if (!mounted.has(figure)) new Chart(figure);
    mounted.add(figure);
  }
}

mount();
document.body.addEventListener("htmx:afterSettle", mount); // a chart may come with a part of the page
