// Narrows the page's time by a part of the chart: dragged by mouse, or by Shift with the arrow keys and Enter. Escape drops
// the part. The time is in the address, so "back" shows the longer time again.
import { spanOf } from "./series.js";

const LEAST_PX = 6; // less is a click

export class Brush {
  // `open` shows an address; tests may give another one.
  constructor(series, open = (address) => location.assign(address)) {
    this.series = series;
    this.open = open;
    this.part = null; // first and last place in time, by keys
    this.isDropped = false;
  }

  // Called by uPlot when a drag ends.
  onDrag(plot) {
    const { left, width } = plot.select;
    const isDropped = this.isDropped;
    this.drop(plot);
    if (isDropped || width < LEAST_PX) return;
    this.show(spanOf(this.series, plot.posToVal(left, "x") * 1000, plot.posToVal(left + width, "x") * 1000));
  }

  // Extends the part by keys, from a place in time to another one.
  extend(plot, from, to) {
    this.part = { from: this.part?.from ?? from, to };
    const { times, step } = this.series;
    const [first, last] = [Math.min(this.part.from, to), Math.max(this.part.from, to)];
    const left = plot.valToPos(times[first] / 1000, "x");
    const right = plot.valToPos((times[last] + step) / 1000, "x");
    plot.setSelect({ left, width: right - left, top: 0, height: plot.over.clientHeight }, false);
  }

  // Shows the part that keys have chosen; tells whether there is one.
  enter() {
    if (!this.part) return false;
    const { times } = this.series;
    const [first, last] = [Math.min(this.part.from, this.part.to), Math.max(this.part.from, this.part.to)];
    this.show(spanOf(this.series, times[first], times[last]));
    return true;
  }

  // Forgets the part; a drag that is not over yet will do nothing.
  drop(plot, isDragging = false) {
    this.part = null;
    this.isDropped = isDragging;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
  }

  show(span) {
    if (!span) return;
    const address = new URL(location.href);
    address.searchParams.set("from", span.from);
    address.searchParams.set("to", span.to);
    address.hash = "";
    this.open(address.href);
  }
}
