"""Generated traces and trees for the core's properties."""

from operator import le
from typing import Final

import msgspec
from hypothesis import strategies as st

from profcore.sums.blobs import Contribution
from profcore.sums.calltree import CallTree
from profcore.trace.funcs import SNIPPET_FUNCTIONS, SNIPPET_NAME
from profcore.trace.wire import Frame, Mark, Sample, Stack, Trace
from tests.properties import bounded

PROPERTY: Final = bounded(60)

# Times in whole µs, as floats of ms: close together, so that they collide and lie at the bounds of long tasks.
times_ms: Final = st.integers(-2_000, 400_000).map(lambda us: us / 1000)
counts: Final = st.integers(0, 2**53) | st.integers(0, 300)


@st.composite
def prefix_trees(draw: st.DrawFn, max_nodes: int = 14, funcs: int = 5) -> tuple[list[int], list[int]]:
    """Draws the columns `prefix` and `func` of a tree, parents before children."""
    count = draw(st.integers(0, max_nodes))
    # One list of numbers is many times cheaper to draw than a number a node.
    seeds = draw(st.lists(st.integers(0, 2**16), min_size=count, max_size=count))
    prefix = [seed % (node + 1) - 1 for node, seed in enumerate(seeds)]
    return prefix, draw(st.lists(st.integers(0, funcs - 1), min_size=count, max_size=count))


@st.composite
def call_trees(draw: st.DrawFn) -> CallTree:
    """Draws a call tree, weights included; equal paths may occur more than once, as in a trace."""
    prefix, func = draw(prefix_trees())
    count = len(prefix)
    weights = st.lists(st.integers(0, 2**40), min_size=count, max_size=count)
    return CallTree(prefix, func, draw(weights), draw(weights), draw(weights))


@st.composite
def contributions(draw: st.DrawFn) -> Contribution:
    """Draws a contribution; totals are never less than self, and often those of the func before."""
    func = sorted(draw(st.sets(st.integers(0, 2**40) | st.integers(0, 50), max_size=12)))
    size = len(func)
    columns = st.lists(counts, min_size=size, max_size=size)
    self_us, self_samples = draw(columns), draw(columns)
    rest_us, rest_samples = draw(columns), draw(columns)
    hidden_us, callees_us = draw(columns), draw(columns)
    own = list(zip(self_us, self_samples, hidden_us, strict=True))
    rest = zip(rest_us, rest_samples, callees_us, strict=True)
    totals = [tuple(map(sum, zip(mine, more, strict=True))) for mine, more in zip(own, rest, strict=True)]
    for row in range(1, size):
        if all(map(le, own[row], totals[row - 1])) and draw(st.booleans()):
            totals[row] = totals[row - 1]
    return Contribution(
        func=func,
        self_us=self_us,
        total_us=[us for us, _, _ in totals],
        hidden_us=hidden_us,
        self_samples=self_samples,
        total_samples=[samples for _, samples, _ in totals],
        hidden_total_us=[us for _, _, us in totals],
        uncertain_us=draw(columns),
    )


@st.composite
def sample_lists(draw: st.DrawFn, stack_count: int = 4, max_size: int = 16) -> list[Sample]:
    """Draws samples in any order, some without a stack, some with a marker."""
    stack = st.none() | st.integers(0, stack_count - 1) if stack_count else st.none()
    marker = st.none() | st.sampled_from(["script", "gc", "style", "layout", "paint", "other", "nonsense"])
    return draw(st.lists(st.builds(Sample, times_ms, stack, marker), max_size=max_size))


_lengths_ms: Final = st.integers(0, 100_000).map(lambda us: us / 1000)


SNIPPET_ADDRESS: Final = "https://profiles.example/snippet.js"  # as the full envelope names it


def _sent(scripts: list[tuple[float, float, str | None]]) -> msgspec.Raw:
    sent = [{"start": start, "duration": lasts, "url": url} for start, lasts, url in scripts]
    return msgspec.Raw(msgspec.json.encode(sent))


_urls: Final = st.sampled_from([SNIPPET_ADDRESS, f"{SNIPPET_ADDRESS}?v=1", "https://shop.example/app.js", None])
_scripts: Final = st.lists(st.tuples(times_ms, _lengths_ms, _urls), max_size=4).map(_sent)
_render_starts: Final = st.just(Mark("", 0).renderStart) | (  # the default itself, which no encoder writes
    times_ms | st.sampled_from([0, 0.0, -5, 2**53 - 1, 1e30, True, None, "7", [1], {"a": 1}])
).map(lambda start: msgspec.Raw(msgspec.json.encode(start)))
# Long tasks, and in half of the lists long animation frames with scripts and rendering anywhere.
mark_lists: Final = st.builds(
    lambda marks, frames: [*marks, *frames],
    st.lists(
        st.builds(Mark, st.sampled_from(["longtask", "longtask", "lcp"]), times_ms, _lengths_ms),
        max_size=6,
    ),
    st.just([])
    | st.lists(
        st.builds(
            Mark,
            st.sampled_from(["loaf", "LoAF", "long-animation-frame"]),
            times_ms,
            _lengths_ms,
            _scripts,
            _render_starts,
        ),
        max_size=3,
    ),
)
# Some are the same func twice, two are the profiler's own, two the snippet's, and one is of no script.
FRAMES: Final = (
    Frame("A", 0, 1, 1),
    Frame("A", 0, 1, 1),
    Frame("A", 0, 1, 2),
    Frame("B", 0, 2, 1),
    Frame("", 0, 1, 1),
    Frame("setTimeout"),
    Frame("Profiler"),
    Frame("stop"),
    Frame("e", 1, *max(SNIPPET_FUNCTIONS["1.0.0"])),
    Frame(SNIPPET_NAME, 0, 1, 3),
    Frame("eval", None, 1, 1),
)


@st.composite
def traces(draw: st.DrawFn) -> Trace:
    """Draws a trace as ingest would pass it on."""
    prefix, func = draw(prefix_trees())
    frames = draw(st.lists(st.sampled_from(FRAMES), min_size=5, max_size=5))
    stacks = [Stack(frame, None if parent < 0 else parent) for parent, frame in zip(prefix, func, strict=True)]
    return Trace(["https://shop.example/app.js", SNIPPET_ADDRESS], frames, stacks, draw(sample_lists(len(stacks))))
