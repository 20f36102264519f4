"""Traces recorded with Chromium's own profile beside them: how near the folded sums come to what really ran.

A line of the file has an envelope, and `truth`: what each step of the main thread was (JS, garbage collection, the
engine's own, idle), with the node of the call tree that ran. Both are on the trace's clock.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any, Final

from profcore.sums.fold import TraceFold, fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Limits, decode_envelope
from tests.corpus import DATA

JS: Final = 0
COLLECTION: Final = 1
ENGINE: Final = 2
KINDS: Final = 4
TOP_FUNCS: Final = 20

Func = tuple[str | None, int | None, int | None]  # uri, line, column
Recording = dict[str, Any]  # JSON


@dataclass(slots=True, kw_only=True)
class RealTime:
    """What ran within a trace's span, µs: by kind, and JS by func, own and with callees."""

    kinds: list[int]
    own_us: Counter[Func]
    total_us: Counter[Func]


@dataclass(frozen=True, slots=True, kw_only=True)
class TruthScore:
    """How near one recording's sums come to the truth.

    Errors are `sum |estimate - truth| / sum truth` over the 20 funcs with the most real time. `covered` is JS and
    hidden time over real JS and garbage collection, `engine_us` is (shown, real).
    """

    name: str
    self_error: float
    total_error: float
    visible_error: float
    is_self_right: bool
    is_self_and_hidden_right: bool
    covered: float
    engine_us: tuple[int, int]


def read_recordings() -> Iterator[Recording]:
    """Yields the recordings, as JSON."""
    with gzip.open(DATA / "truth.jsonl.gz", "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def read_truth(recording: Recording) -> RealTime:
    """Returns what really ran within the span of a recording's trace."""
    truth, envelope = recording["truth"], recording["envelope"]
    stamps = [sample["timestamp"] for sample in envelope["trace"]["samples"]]
    first, last = min(stamps) * 1000, (max(stamps) + envelope["sampleInterval"]) * 1000
    funcs: list[Func] = [(uri, line, column) for uri, line, column, _ in truth["funcs"]]
    paths: list[frozenset[int]] = []
    for prefix, func in zip(truth["prefix"], truth["func"], strict=True):
        paths.append((paths[prefix] if prefix >= 0 else frozenset()) | {func})
    real = RealTime(kinds=[0] * KINDS, own_us=Counter(), total_us=Counter())
    now = truth["start_us"]
    for step, node, kind in zip(truth["step_us"], truth["node"], truth["kind"], strict=True):
        us = round(min(now + step, last) - max(now, first))
        now += step
        if us <= 0:
            continue
        real.kinds[kind] += us
        if kind == JS and node >= 0:
            real.own_us[funcs[truth["func"][node]]] += us
            for func in paths[node]:
                real.total_us[funcs[func]] += us
    return real


def score_recording(recording: Recording) -> TruthScore:
    """Folds a recording and compares its sums with the truth. As there, a built-in's own time is its caller's."""
    real = read_truth(recording)
    envelope = decode_envelope(json.dumps(recording["envelope"]).encode(), Limits())
    funcs = FuncTable()
    fold = fold_trace(envelope, page=recording["page"], funcs=funcs)
    places = [(key.uri, key.line, key.column) if key.uri else None for key in funcs.keys]
    self_us, self_hidden_us = (_sum_self(fold, column, places) for column in (fold.stack_us, fold.stack_hidden_us))
    visible, hidden = (_sum_by_place(by_func, places) for by_func in (fold.sums.total_us, fold.sums.hidden_total_us))
    parts, top = fold.parts, _top(real.own_us)
    return TruthScore(
        name=recording["id"],
        self_error=_error(self_us, real.own_us),
        total_error=_error(visible + hidden, real.total_us),
        visible_error=_error(visible, real.total_us),
        is_self_right=_top(self_us) == top,
        is_self_and_hidden_right=_top(self_us + self_hidden_us) == top,
        covered=(parts.js_us + parts.hidden_us) / max(real.kinds[JS] + real.kinds[COLLECTION], 1),
        engine_us=(parts.engine_us, real.kinds[ENGINE]),
    )


def describe_scores(scores: Sequence[TruthScore]) -> str:
    """Returns the scores of all recordings as text."""
    covered = sorted(score.covered for score in scores)
    shown, real = (sum(score.engine_us[at] for score in scores) for at in (0, 1))
    self_right = fmean(score.is_self_right for score in scores)
    both_right = fmean(score.is_self_and_hidden_right for score in scores)
    return "\n".join(
        (
            f"{len(scores)} recordings with the browser's own profile",
            f"error of self time {fmean(score.self_error for score in scores):.3f}",
            f"error of time with callees {fmean(score.total_error for score in scores):.3f}, "
            f"of its visible part only {fmean(score.visible_error for score in scores):.3f}",
            f"top function right by self {self_right:.0%}, by self and hidden {both_right:.0%}",
            f"js and hidden over real JS and GC: {covered[0]:.2f} to {covered[-1]:.2f}, median {median(covered):.2f}",
            f"engine {shown / 1e6:.1f} s of {real / 1e6:.1f} s",
        )
    )


def _sum_by_place(sums: dict[int, int], places: Sequence[Func | None]) -> Counter[Func]:
    by_place: Counter[Func] = Counter()
    for index, us in sums.items():
        if (place := places[index]) is not None:
            by_place[place] += us
    return by_place


def _sum_self(fold: TraceFold, column: Sequence[int], places: Sequence[Func | None]) -> Counter[Func]:
    """Returns the sums of stacks by their deepest func that has a place."""
    sums: Counter[Func] = Counter()
    deepest: list[Func | None] = []
    for prefix, func, us in zip(fold.prefix, fold.func, column, strict=True):
        deepest.append(places[func] or (deepest[prefix] if prefix >= 0 else None))
        if us and (place := deepest[-1]) is not None:
            sums[place] += us
    return sums


def _error(estimate: Counter[Func], real: Counter[Func]) -> float:
    top = real.most_common(TOP_FUNCS)
    return sum(abs(estimate[func] - us) for func, us in top) / max(sum(us for _, us in top), 1)


def _top(sums: Counter[Func]) -> Func | None:
    return max(sums, key=sums.__getitem__, default=None)
