"""The share of hidden time that is given to a call node, and the share of real JS time that self and hidden cover."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.corpus import read_corpus
from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Limits, decode_envelope

Page = tuple[str, str]  # app, page
# The way in which `stackless-vs-cdp` was recorded. The corpus has traces recorded like that, of other page loads.
COMPARED_RELEASE: Final = "1.0.0"
COMPARED_TAGS: Final = {"class": "desktop-fast", "input": "large"}


@dataclass(slots=True, kw_only=True)
class HiddenShares:
    """The µs of a page's hidden time by the known sides; they add up to `hidden_us`.

    The recorded traces have no long animation frames: what has one side is uncertain.
    """

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
        both, one = sum(fold.stack_hidden_us), sum(fold.sums.uncertain_us.values())
        shares.js_us += fold.parts.js_us
        shares.hidden_us += fold.parts.hidden_us
        shares.both_us += both
        shares.one_us += one
        shares.nobodys_us += fold.parts.hidden_us - both - one
        tags = wire["tags"]
        if envelope.release == COMPARED_RELEASE and all(tags[name] == tag for name, tag in COMPARED_TAGS.items()):
            shares.compared.append((fold.parts.js_us, both + one))
    return pages


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
