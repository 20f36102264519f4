"""How long the flame graph's frames take in a real Chromium: `python -m tests.e2e.measure_flame`. Asserts nothing.

A frame is drawn and read back, so that the pixels are there when the clock stops: a browser may paint later, no less.
"""

import argparse
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.e2e.browser import open_chromium

STATIC = Path(__file__).resolve().parents[2] / "dashboard" / "static" / "dashboard"
PAGE = """<!doctype html><meta charset="utf-8">
<link rel="stylesheet" href="/dashboard.css"><link rel="stylesheet" href="/tree.css">
<div class="flame-scroll"><div class="flame-height"><canvas></canvas></div></div>"""

# A tree of `count` nodes: deep chains that branch, times spread over some powers of ten, as recorded ones are.
SCRIPT = """async ([count, frames]) => {
  const load = (name) => import(`/flame/${name}.js`);
  const names = ["tree", "layout", "colours", "draw", "graph"];
  const [trees, layouts, colours, drawing, graphs] = await Promise.all(names.map(load));
  let seed = 1;
  const random = () => ((seed = (seed * 48271) % 2147483647) / 2147483647);
  const prefix = [-1], func = [0], depth = [0], self = [0.01];
  const funcs = 2000;
  while (prefix.length < count) {
    const last = prefix.length - 1;
    let above = random() < 0.93 ? Math.max(last - Math.floor(-6 * Math.log(random())), 0) : Math.floor(random() * last);
    while (depth[above] > 120) above = prefix[above];
    prefix.push(above);
    depth.push(depth[above] + 1);
    func.push(Math.floor(random() ** 2 * funcs));
    self.push(0.3 / random() ** 0.9);
  }
  const total = self.slice();
  for (let node = count - 1; node > 0; node--) total[prefix[node]] += total[node];
  const texts = Array.from({ length: funcs }, (_, n) => `function${n}OfSomeLength`);
  const none = Array(funcs).fill(null);
  const answer = {
    functions: { id: texts, name: texts, label: texts, uri: none, line: none, column: none, package: none,
      original_source: none, original_line: none, original_column: none,
      category: texts.map((_, n) => ["first-party", "library", "third-party"][n % 3]) },
    nodes: { prefix, function: func }, base: null, pruned_nodes: 0,
    head: { views: 1, traces: 1, time_ms: { js: total[0] },
      self_ms: self, total_ms: total, hidden_ms: self.map(() => 0) },
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
    const at = (part) => took[Math.min(Math.floor(part * took.length), took.length - 1)];
    results[name] = [at(0.5), at(0.95), took.at(-1)];
  };
  const words = [["first-party", "First party"], ["library", "Library"], ["third-party", "Third party"]];
  const tree = trees.readTree(answer);
  measure("read the answer", 5, () => trees.readTree(answer));
  measure("lay out", 5, () => layouts.layOut(tree));
  measure("turn over, to by-caller", 5, () => trees.turnOver(tree));
  measure("search", 5, () => trees.searchTree(tree, "function1"));
  const graph = graphs.makeGraph({ canvas: document.querySelector("canvas") });
  graph.show(tree, colours.colourTree(tree, "category", words));
  await new Promise((resolve) => setTimeout(resolve, 200));
  const { scene } = graph;
  const context = document.querySelector("canvas").getContext("2d");
  const frame = () => { drawing.draw(context, scene); context.getImageData(0, 0, 1, 1); };
  frame();
  measure("frame, all of it", frames, frame);
  measure("frame, zooming", frames, (n) => {
    const width = 0.5 ** (n / 8);
    scene.view = { from: 0.3 * (1 - width), to: 0.3 * (1 - width) + width };
    frame();
  });
  scene.view = { from: 0, to: 1 };
  measure("frame, scrolling", frames, (n) => { scene.top = n * 20; frame(); });
  scene.top = 0;
  scene.found = trees.searchTree(tree, "function1").nodes;
  measure("frame, with a search", frames, frame);
  const rows = scene.layout.rows.length;
  return { results, size: [scene.width, scene.height], rows, nodes: tree.count - 1 };
}"""


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves the static files, and the page at /."""

    def do_GET(self) -> None:
        if self.path != "/":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serve() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(STATIC)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()


def measure(nodes: int, frames: int, ratio: int) -> dict[str, Any]:
    with serve() as address, open_chromium() as browser:
        context = browser.new_context(viewport={"width": 1600, "height": 1000}, device_scale_factor=ratio)
        page = context.new_page()
        page.goto(address)
        measured: dict[str, Any] = page.evaluate(SCRIPT, [nodes, frames])
        return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--frames", type=int, default=60)
    options = parser.parse_args()
    for ratio in (1, 2):
        measured = measure(options.nodes, options.frames, ratio)
        width, height = measured["size"]
        print(f"{measured['nodes']:,} nodes in {measured['rows']} rows, {width} × {height} px, {ratio} device px each")
        for name, (p50, p95, most) in measured["results"].items():
            print(f"  {name:26} p50 {p50:7.1f} ms   p95 {p95:7.1f} ms   most {most:7.1f} ms")


if __name__ == "__main__":
    main()
