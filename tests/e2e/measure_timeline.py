"""How long a view's timeline takes in a real Chromium: `python -m tests.e2e.measure_timeline`. Asserts nothing.

A frame is both canvases, drawn and read back, as in `measure_flame`. On a busy machine the least tells more.
"""

import argparse
from typing import Any

from tests.e2e.browser import open_chromium
from tests.e2e.measure_flame import serve

# A view of `count` samples 10 ms apart: stacks that move up and down, a third of them idle or hidden, and many marks.
SCRIPT = """async ([count, marks, frames]) => {
  const load = (name) => import(`/${name}.js`);
  const names = ["timeline/bars", "timeline/tracks", "flame/colours", "flame/draw", "flame/graph"];
  const [bars, tracking, colours, drawing, graphs] = await Promise.all(names.map(load));
  let seed = 1;
  const random = () => ((seed = (seed * 48271) % 2147483647) / 2147483647);
  const funcs = 1500, prefix = [-1], func = [0], depth = [0];
  while (prefix.length < count / 2) {
    let above = Math.max(prefix.length - 1 - Math.floor(-6 * Math.log(random())), 0);
    while (depth[above] > 60) above = prefix[above];
    prefix.push(above);
    depth.push(depth[above] + 1);
    func.push(Math.floor(random() ** 2 * funcs));
  }
  const samples = { time_ms: [], weight_ms: [], stack: [], kind: [], hidden_stack: [], marker: [], trace: [] };
  let at = 0;
  for (let n = 0; n < count; n++) {
    const next = random() < 0.1 ? Math.floor(random() * prefix.length) : at + Math.floor(random() * 7) - 3;
    at = Math.min(Math.max(next, 0), prefix.length - 1);
    const kind = random() < 0.66 ? 0 : random() < 0.5 ? 1 : 2;
    samples.time_ms.push(n * 10);
    samples.weight_ms.push(10);
    samples.stack.push(kind === 0 ? at : -1);
    samples.kind.push(kind);
    samples.hidden_stack.push(kind === 1 ? prefix[at] : -1);
    samples.marker.push(-1);
    samples.trace.push(0);
  }
  const texts = Array.from({ length: funcs }, (_, n) => `function${n}OfSomeLength`);
  const none = Array(funcs).fill(null);
  const types = ["longtask", "measure", "mark", "interaction", "largest-contentful-paint"];
  const answer = {
    interval_ms: 10, samples, stacks: { prefix, function: func }, gaps: { start_ms: [], end_ms: [], trace: [] },
    functions: { id: texts, name: texts, label: texts, uri: none, line: none, column: none, package: none,
      original_source: none, original_line: none, original_column: none,
      category: texts.map((_, n) => ["first-party", "library", "third-party"][n % 3]) },
    traces: [{ lane: 0, start_ms: 0, end_ms: count * 10 }],
    marks: Array.from({ length: marks }, (_, n) => ({
      type: types[n % 5], name: "", start_ms: (n * count * 10) / marks, duration_ms: n % 3 ? 30 : 0, facts: {},
    })),
  };
  const results = {};
  const measure = (name, times, work) => {
    const took = [];
    for (let time = 0; time < times; time++) {
      const began = performance.now();
      work(time);
      took.push(performance.now() - began);
    }
    took.sort((a, b) => a - b);
    const part = (share) => took[Math.min(Math.floor(share * took.length), took.length - 1)];
    results[name] = [took[0], part(0.5), part(0.95)];
  };
  measure("read the answer", 5, () => bars.readTimeline(answer));
  const timeline = bars.readTimeline(answer);
  const words = [["first-party", "First party"], ["library", "Library"], ["third-party", "Third party"]];
  const [top, below] = document.querySelectorAll("canvas");
  const tracks = tracking.makeTracks(top, timeline);
  tracks.restyle();
  tracks.resize();
  const graph = graphs.makeGraph({ canvas: below, isPart: true });
  graph.show(timeline.tree, colours.colourTree(timeline.tree, "category", words), "head", timeline.layout);
  await new Promise((resolve) => setTimeout(resolve, 200));
  const { scene } = graph;
  const context = below.getContext("2d");
  const above = top.getContext("2d");
  const frame = () => {
    drawing.draw(context, scene);
    tracks.draw(scene.view);
    context.getImageData(0, 0, 1, 1);
    above.getImageData(0, 0, 1, 1);
  };
  frame();
  measure("frame, all of it", frames, frame);
  measure("its stacks", frames, () => { drawing.draw(context, scene); context.getImageData(0, 0, 1, 1); });
  measure("its tracks", frames, () => { tracks.draw(scene.view); above.getImageData(0, 0, 1, 1); });
  measure("frame, zooming", frames, (n) => {
    const width = 0.5 ** (n / 8);
    scene.view = { from: 0.3 * (1 - width), to: 0.3 * (1 - width) + width };
    frame();
  });
  scene.view = { from: 0.4, to: 0.5 };
  measure("frame, panning a tenth", frames, (n) => {
    scene.view = { from: 0.4 + n / 1000, to: 0.5 + n / 1000 };
    frame();
  });
  return { results, size: [scene.width, scene.height + tracks.height], bars: timeline.tree.count - 1 };
}"""
MORE = '<div class="tracks"><canvas></canvas></div>'


def measure(samples: int, marks: int, frames: int, ratio: int) -> dict[str, Any]:
    with serve() as address, open_chromium() as browser:
        context = browser.new_context(viewport={"width": 1480, "height": 1000}, device_scale_factor=ratio)
        page = context.new_page()
        page.goto(address)
        page.evaluate("html => document.body.insertAdjacentHTML('afterbegin', html)", MORE)
        measured: dict[str, Any] = page.evaluate(SCRIPT, [samples, marks, frames])
        return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--marks", type=int, default=500)
    parser.add_argument("--frames", type=int, default=60)
    options = parser.parse_args()
    for ratio in (1, 2):
        measured = measure(options.samples, options.marks, options.frames, ratio)
        width, height = measured["size"]
        print(f"{options.samples:,} samples, {measured['bars']:,} bars, {width} × {height} px, {ratio} device px each")
        for name, (least, p50, p95) in measured["results"].items():
            print(f"  {name:26} least {least:7.1f} ms   p50 {p50:7.1f} ms   p95 {p95:7.1f} ms")


if __name__ == "__main__":
    main()
