"""Pages that force style and layout in known functions, and what Chromium's own trace says of them."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from playwright.sync_api import Browser

from profcore.formats.timeline import ViewTrace, build_timeline
from profcore.trace.funcs import FuncTable, clean_url
from profcore.trace.marks import read_marks
from profcore.trace.wire import Limits, decode_envelope
from profcore.vitals.forced_layout import ForcedLayout, find_scripts, sum_forced_layout
from profcore.vitals.window_sums import tile_samples
from tests.e2e.browser import open_page
from tests.ingest.snippet.browsing import wait_until
from tests.snippet_site import POLICY, IngestServer, write_page

CATEGORIES: Final = (
    "-*",
    "devtools.timeline",
    *(f"disabled-by-default-devtools.timeline{end}" for end in ("", ".stack")),
)
FORCED_EVENTS: Final = ("Layout", "UpdateLayoutTree")
TAG: Final = "/tag.js"
# Only such a page gets all markers, where the browser has them.
ISOLATED: Final = {"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp"}
HEADERS: Final = {
    "Content-Type": "text/javascript",
    "Access-Control-Allow-Origin": "*",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
PARTS: Final = """
const box = document.createElement('div');
for (let n = 0; n < 1500; n += 1) { const row = document.createElement('p'); row.textContent = n; box.append(row); }
document.body.append(box);
let turn = 0;
const until = (ms) => performance.now() + ms;
function compute(ms) { const end = until(ms); let n = 0; while (performance.now() < end) n += Math.sqrt(n); return n; }
function hash(ms) { const end = until(ms); let n = 0; while (performance.now() < end) n = (n * 31 + 7) | 0; return n; }
function run(...tasks) {
  const next = () => { tasks.shift()(); setTimeout(tasks.length ? next : () => performance.mark('done'), 60); };
  setTimeout(next, 200);
}
"""
# Writes a width and reads a size, again and again: each read forces a layout of all rows.
READING: Final = """function NAME(ms) {
  const end = until(ms);
  let sum = 0;
  while (performance.now() < end) {
    turn += 1;
    box.style.width = 300 + turn % 50 + 'px';
    sum += box.offsetHeight;
  }
  return sum;
}
"""
READ_SIZE, READ_OTHER, MEASURE, READ_TAG = (
    READING.replace("NAME", name) for name in ("readSize", "readOther", "measure", "readTag")
)
READ_COLOUR: Final = """function readColour(ms) {
  const end = until(ms);
  let sum = 0;
  while (performance.now() < end) {
    turn += 1;
    box.style.color = `rgb(0,0,${turn % 250})`;
    for (const row of box.children) sum += getComputedStyle(row).color.length;
  }
  return sum;
}
"""
VARIED: Final = """run(
  () => { compute(60); readSize(70); }, () => { compute(90); hash(60); }, () => { readSize(60); hash(50); },
  () => { compute(70); FORCE(50); }, () => { hash(70); compute(60); });
"""
# By what they do. All but the last two have scripts in which different functions ran.
WORKS: Final[Mapping[str, str]] = {
    "one function": READ_SIZE + VARIED.replace("FORCE", "readSize"),
    "two functions": READ_SIZE + READ_OTHER + VARIED.replace("FORCE", "readOther"),
    "a helper of two": MEASURE
    + "function tip(ms) { compute(20); return measure(ms); } function menu(ms) { hash(20); return measure(ms); }"
    + VARIED.replace("readSize", "tip").replace("FORCE", "menu"),
    "a third party": VARIED.replace("readSize", "readTag").replace("FORCE", "readTag"),
    "style only": READ_COLOUR + VARIED.replace("readSize", "readColour").replace("FORCE", "readColour"),
    "always with others": READ_SIZE + f"run({', '.join(['() => { compute(40); readSize(80); }'] * 4)});",
    "none": "run(() => compute(90), () => hash(90));",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Forcing:
    """What a visit forced, ms by function: by Chromium's trace, and by ours."""

    truth_ms: Mapping[str, float]
    self_ms: Mapping[str, float]
    total_ms: Mapping[str, float]
    forced: ForcedLayout

    @property
    def error(self) -> float:
        """The share of the true time that another function has."""
        names = self.truth_ms.keys() | self.self_ms.keys()
        wrong = sum(abs(self.truth_ms.get(name, 0.0) - self.self_ms.get(name, 0.0)) for name in names)
        return wrong / 2 / sum(self.truth_ms.values())


def visit(browser: Browser, endpoint: IngestServer, pages: dict[str, Any], port: int, work: str) -> Forcing:
    """Opens a page that does some work, and leaves it."""
    number = str(len(pages))
    url = f"http://127.0.0.1:{port}"
    pages[TAG] = READ_TAG, HEADERS
    tag = f"<script src='http://localhost:{port}{TAG}' crossorigin></script>"
    body = f"<body><script>{PARTS}</script>{tag}<script>{WORKS[work]}</script>"
    pages[f"/{number}"] = (
        write_page(url, work="").replace("<a id=next", f"{body}<a id=next"),
        {
            "Document-Policy": POLICY,
            **ISOLATED,
        },
    )
    with open_page(browser) as page:
        browser.start_tracing(page=page, categories=list(CATEGORIES))
        page.goto(f"{url}/{number}?visit={number}")
        page.wait_for_function("performance.getEntriesByName('done').length > 0")
        page.goto("about:blank")
        trace = browser.stop_tracing()
        wait_until(page, lambda: number in endpoint.envelopes)
    return _compare(_read_truth(trace), endpoint.envelopes[number])


def _read_truth(trace: bytes) -> Mapping[str, float]:
    """Returns the ms of forced work by the function on top. What no script forced has no stack."""
    forced_ms: Counter[str] = Counter()
    begun: dict[tuple[int, str], dict[str, Any]] = {}
    for event in sorted(json.loads(trace)["traceEvents"], key=lambda event: event.get("ts", 0)):
        if event["name"] not in FORCED_EVENTS:
            continue
        key = event["tid"], event["name"]
        if event["ph"] == "B":
            begun[key] = event
            continue
        first = begun.pop(key, None) if event["ph"] == "E" else event
        arguments = first["args"] if first else {}
        stack = arguments.get("stackTrace") or arguments.get("beginData", {}).get("stackTrace")
        if first and stack:
            forced_ms[stack[0]["functionName"]] += (event.get("dur") or event["ts"] - first["ts"]) / 1_000
    return forced_ms


def _compare(truth_ms: Mapping[str, float], envelopes: list[dict[str, Any]]) -> Forcing:  # Any: JSON
    funcs, traces, page = FuncTable(), [], envelopes[0]["page"]
    for envelope in envelopes:
        body = json.dumps(envelope).encode()
        marks = read_marks(body, page_url=clean_url(envelope["url"]), page=page)
        traces.append(ViewTrace(decode_envelope(body, Limits()), marks))
    timeline = build_timeline(traces, page=page, funcs=funcs)
    forced = sum_forced_layout(timeline, find_scripts(timeline.marks), funcs.keys, tile_samples(timeline))
    self_ms, total_ms = (
        {funcs.keys[index].name: us / 1_000 for index, us in forced.funcs.by_func(column).items()}
        for column in (forced.funcs.self_us, forced.funcs.total_us)
    )
    return Forcing(truth_ms=truth_ms, self_ms=self_ms, total_ms=total_ms, forced=forced)
