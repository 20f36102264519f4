"""Measures how much hidden time is given to functions, and how near all times are to the browser's own profiler."""

import json
from argparse import ArgumentParser
from dataclasses import dataclass

from profcore.sums.fold import fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Limits, decode_envelope
from tests.acceptance.truth.scores import describe_scores, read_recordings, score_recording
from tests.corpus import corpus_envelopes

Page = tuple[str, str]  # app, page


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


def measure_hidden() -> dict[Page, HiddenShares]:
    """Returns, by app and page, the attribution of the hidden time of the recorded traces."""
    pages: dict[Page, HiddenShares] = {}
    for app, wire in corpus_envelopes():
        envelope = decode_envelope(json.dumps(wire).encode(), Limits())
        shares = pages.setdefault((app, envelope.page or "/"), HiddenShares())
        fold = fold_trace(envelope, page=envelope.page or "/", funcs=FuncTable())
        both, one = sum(fold.stack_hidden_us), sum(fold.sums.uncertain_us.values())
        shares.js_us += fold.parts.js_us
        shares.hidden_us += fold.parts.hidden_us
        shares.both_us += both
        shares.one_us += one
        shares.nobodys_us += fold.parts.hidden_us - both - one
    return pages


def describe(pages: dict[Page, HiddenShares]) -> str:
    """Returns the shares as a table."""
    lines = ["app page               hidden/js   both sides   one side   nobody"]
    whole = HiddenShares()
    for (app, page), shares in sorted(pages.items()):
        lines.append(_share_line(f"{app} {page}", shares))
        for name in ("js_us", "hidden_us", "both_us", "one_us", "nobodys_us"):
            setattr(whole, name, getattr(whole, name) + getattr(shares, name))
    lines.append(_share_line("all", whole))
    return "\n".join(lines)


def _share_line(name: str, shares: HiddenShares) -> str:
    whole = shares.hidden_us or 1
    return (
        f"{name:22}{shares.hidden_us / (shares.js_us or 1):10.2f}{shares.both_us / whole:13.1%}"
        f"{shares.one_us / whole:11.1%}{shares.nobodys_us / whole:9.1%}"
    )


def main() -> None:
    ArgumentParser(description=__doc__).parse_args()
    print(f"{describe(measure_hidden())}\n")
    print(describe_scores([score_recording(recording) for recording in read_recordings()]))
