"""The share of hidden time that is given to a call node, and the share of real JS time that self and hidden cover."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.corpus import read_corpus
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable, is_profiler, read_func_keys
from profcore.trace.hidden import HiddenRun, attribute_runs
from profcore.trace.weights import busy_ranges, to_us, weigh
from profcore.trace.wire import Envelope, Limits, decode_envelope

Page = tuple[str, str]  # app, page
# The way in which `stackless-vs-cdp` was recorded. The corpus has traces recorded like that, of other page loads.
COMPARED_RELEASE: Final = "1.0.0"
COMPARED_TAGS: Final = {"class": "desktop-fast", "input": "large"}


@dataclass(slots=True, kw_only=True)
class HiddenShares:
    """The µs of a page's hidden time by the known sides; they add up to `hidden_us`."""

    js_us: int = 0
    hidden_us: int = 0
    both_us: int = 0
    one_us: int = 0
    nobodys_us: int = 0
    # For each trace that can be compared: (JS µs, attributed hidden µs).
    compared: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The time of a page in one load by the browser's own profiler, ms, and the part of it that our traces would show.

    The loads of the facts have no long tasks, and loads differ too much to compare ms of different loads. So
    `hidden_ms` is an estimate: the facts' self time, times hidden over self of the corpus's own loads of that kind.
    """

    page: Page
    real_js_ms: float
    real_busy_ms: float  # JS, garbage collection, and the engine's own: style, layout, paint, parsing
    self_ms: float
    hidden_ms: float
    loads: int


def measure_hidden(corpus: Path) -> dict[Page, HiddenShares]:
    """Returns, by app and page, the attribution of a corpus's hidden time."""
    pages: dict[Page, HiddenShares] = {}
    for app, wire in read_corpus(corpus):
        envelope = decode_envelope(json.dumps(wire).encode(), Limits())
        shares = pages.setdefault((app, envelope.page or "/"), HiddenShares())
        fold = fold_trace(envelope, page=envelope.page or "/", funcs=FuncTable())
        both = one = 0
        for run, given_us in _runs_of(envelope):
            if min(run.before, run.after) >= 0:
                both += given_us
            else:
                one += given_us
        attributed = sum(fold.stack_hidden_us)
        if both + one != attributed:
            raise RuntimeError("the runs do not add up to what the fold attributed")
        shares.js_us += fold.parts.js_us
        shares.hidden_us += fold.parts.hidden_us
        shares.both_us += both
        shares.one_us += one
        shares.nobodys_us += fold.parts.hidden_us - attributed
        tags = wire["tags"]
        if envelope.release == COMPARED_RELEASE and all(tags[name] == tag for name, tag in COMPARED_TAGS.items()):
            shares.compared.append((fold.parts.js_us, attributed))
    return pages


def _runs_of(envelope: Envelope) -> Iterator[tuple[HiddenRun, int]]:
    """Yields each run of a trace with the µs of it that were given to a func: all of it or none."""
    trace = envelope.trace
    keys = read_func_keys(trace, page_url=None, page="/")
    own = [is_profiler(keys[stack.frameId]) for stack in trace.stacks]
    prefix = [-1 if stack.parentId is None else stack.parentId for stack in trace.stacks]
    index_of_frame = FuncTable().intern_all(keys)
    func = [index_of_frame[stack.frameId] for stack in trace.stacks]
    interval_us, busy = to_us(envelope.sampleInterval), busy_ranges(envelope.marks)
    weighed = weigh(trace.samples, stack_count=len(prefix), profiler_stacks=own, interval_us=interval_us, busy=busy)
    for run in weighed.hidden_runs:
        yield run, sum(attribute_runs([run], prefix, func, own))


def compare_with_facts(pages: dict[Page, HiddenShares], facts: Iterable[dict[str, Any]]) -> list[Coverage]:
    """Returns an estimate, by page, of the real time that self and attributed hidden time cover. `facts` are JSON."""
    rows = []
    for fact in facts:
        page = (fact["app"], fact["page"])
        compared = pages[page].compared if page in pages else []
        js_us = sum(js for js, _ in compared)
        if js_us:
            hidden_ms = fact["selfStackMs"] * sum(hidden for _, hidden in compared) / js_us
            busy_ms = fact["cdpJsMs"] + fact["cdpGcMs"] + fact["cdpProgramMs"]
            rows.append(
                Coverage(
                    page=page,
                    real_js_ms=fact["cdpJsMs"],
                    real_busy_ms=busy_ms,
                    self_ms=fact["selfStackMs"],
                    hidden_ms=hidden_ms,
                    loads=len(compared),
                )
            )
    return rows


def describe(pages: dict[Page, HiddenShares], coverage: Iterable[Coverage]) -> str:
    """Returns both tables as text."""
    lines = ["app page               hidden/js   both sides   one side   nobody"]
    whole = HiddenShares()
    for (app, page), shares in sorted(pages.items()):
        lines.append(_share_line(f"{app} {page}", shares))
        for name in ("js_us", "hidden_us", "both_us", "one_us", "nobodys_us"):
            setattr(whole, name, getattr(whole, name) + getattr(shares, name))
    lines.append(_share_line("all", whole))
    lines.append("")
    lines.append("app page               self   hidden   real JS   real busy   self/JS   both/JS   both/busy   loads")
    for row in coverage:
        both_ms = row.self_ms + row.hidden_ms
        name = " ".join(row.page)
        lines.append(
            f"{name:20}{row.self_ms:7.0f}{row.hidden_ms:9.0f}{row.real_js_ms:10.0f}{row.real_busy_ms:12.0f}"
            f"{row.self_ms / row.real_js_ms:10.0%}{both_ms / row.real_js_ms:10.0%}"
            f"{both_ms / row.real_busy_ms:12.0%}{row.loads:8}"
        )
    return "\n".join(lines)


def _share_line(name: str, shares: HiddenShares) -> str:
    whole = shares.hidden_us or 1
    return (
        f"{name:22}{shares.hidden_us / (shares.js_us or 1):10.2f}{shares.both_us / whole:13.1%}"
        f"{shares.one_us / whole:11.1%}{shares.nobodys_us / whole:9.1%}"
    )
