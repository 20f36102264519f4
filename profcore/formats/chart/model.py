"""The chart: the common model from which formats of stacks and samples are written, for slices and views of any kind.

A chart has call nodes over distinct funcs, and tracks. A track is an axis from left to right without holes: each run
on it is a call node, or no stack, for a number of µs. In a slice the axis is the running sum of the weights, depth
first, heaviest first: an icicle with true widths, not a clock.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from profcore.trace.weights import TimeParts

HIDDEN: Final = "(hidden)"
ENGINE: Final = "(engine)"
# Runs that are not call nodes: time without a stack and without a sign of work, and time that is left blank.
IDLE: Final = -1
BLANK: Final = -2
Unit = Literal["microseconds", "nanoseconds"]
Metadata = dict[str, str | int | float | list[str]]


class ChartPlace(NamedTuple):
    """The place of a func's definition. `line` and `column` are 1-based, None if unknown."""

    uri: str
    line: int | None
    column: int | None


class ChartFunc(NamedTuple):
    """A func as it is written: all its texts can be written, and no two funcs of a chart are equal.

    `script` is its place in the browser's script, `original` its place by a source map; a built-in has neither.
    `is_page` is false for funcs that we add, such as `(hidden)`. With `is_made` a display rule shows several functions
    as this one.
    """

    label: str
    script: ChartPlace | None
    original: ChartPlace | None
    is_page: bool = True
    is_made: bool = False

    @property
    def place(self) -> ChartPlace | None:
        """The place where people look for it: the original if it is known, else the script."""
        return self.original or self.script


# Browsers cut stacks at 255 frames, but ingest accepts 10,000: whole stacks of 200,000 such nodes would be 100 GB.
MAX_PATH: Final = 1_024
ELIDED_FUNC: Final = ChartFunc("(elided)", None, None, is_page=False)
HIDDEN_FUNC: Final = ChartFunc(HIDDEN, None, None, is_page=False)
ENGINE_FUNC: Final = ChartFunc(ENGINE, None, None, is_page=False)
# The engine's work below a func, by the sample's marker.
ENGINE_FUNCS: Final = {
    "gc": ChartFunc("(garbage collection)", None, None, is_page=False),
    "style": ChartFunc("(style)", None, None, is_page=False),
    "layout": ChartFunc("(layout)", None, None, is_page=False),
    "paint": ChartFunc("(paint)", None, None, is_page=False),
}


class ChartMark(NamedTuple):
    """A timed fact in addition to the stacks: µs on the axis, 0 µs for an instant. All its texts can be written."""

    name: str
    start_us: int
    us: int
    facts: Mapping[str, str | int | float]


@dataclass(slots=True, kw_only=True)
class Track:
    """Runs by column: a call node, `IDLE` or `BLANK`; its µs (≥ 0); its number of samples.

    The axis begins at `start_us`. Runs of 0 µs have samples without weight.
    """

    name: str
    start_us: int = 0
    node: list[int] = field(default_factory=list)
    us: list[int] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    marks: Sequence[ChartMark] = ()

    def add(self, node: int, us: int, samples: int) -> None:
        """Adds a run at the end, or extends the last one if it has the same node."""
        if self.node and self.node[-1] == node:
            self.us[-1] += us
            self.samples[-1] += samples
        elif us or samples:
            self.node.append(node)
            self.us.append(us)
            self.samples.append(samples)

    @property
    def end_us(self) -> int:
        """The end of the axis."""
        return self.start_us + sum(self.us)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """The content of a file. Callers come before callees; a root's prefix is -1; `func` indexes `funcs`.

    `is_clock` says whether the axis is a clock. Formats with room for them write `metadata`, which have snake-case
    names. `started_at_ms` is epoch ms. `tracks_by` names the difference between tracks. Runs are counted in `unit`: µs,
    except for differences, which are per page view and therefore much smaller.
    """

    title: str
    funcs: Sequence[ChartFunc]
    prefix: Sequence[int]
    func: Sequence[int]
    tracks: Sequence[Track]
    time: TimeParts
    interval_us: int
    started_at_ms: float
    metadata: Metadata
    is_clock: bool = False
    tracks_by: str = "track"
    unit: Unit = "microseconds"

    def sum_runs(self, tracks: Sequence[Track] | None = None) -> tuple[list[int], list[int]]:
        """Returns the self µs and samples of each node, over some tracks or all of them."""
        self_us, self_samples = [0] * len(self.func), [0] * len(self.func)
        for track in self.tracks if tracks is None else tracks:
            for node, us, samples in zip(track.node, track.us, track.samples, strict=True):
                if node >= 0:
                    self_us[node] += us
                    self_samples[node] += samples
        return self_us, self_samples


class Paths:
    """The stacks of a chart's nodes as lists of funcs, for formats that write a whole stack with every run.

    `funcs` are the chart's, and `ELIDED_FUNC` if it is needed: the middle of a stack deeper than `MAX_PATH` is left
    out. Its self time and the totals of the remaining funcs do not change.
    """

    __slots__ = ("_anchor", "_chart", "_depth", "funcs")

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self._depth: list[int] = []
        self._anchor: list[int] = []  # the deepest node kept at the root's end of a cut path
        for node, prefix in enumerate(chart.prefix):
            depth = self._depth[prefix] + 1 if prefix >= 0 else 0
            self._depth.append(depth)
            self._anchor.append(node if depth < MAX_PATH // 2 else self._anchor[prefix])
        is_elided = max(self._depth, default=0) >= MAX_PATH
        self.funcs: Sequence[ChartFunc] = [*chart.funcs, ELIDED_FUNC] if is_elided else chart.funcs

    def of(self, node: int) -> list[int]:
        """Returns the funcs on the stack of a node, root first; empty for `IDLE` and `BLANK`."""
        if node < 0:
            return []
        is_elided = self._depth[node] >= MAX_PATH
        funcs = self._walk(node, MAX_PATH // 2 - 1 if is_elided else MAX_PATH)
        if is_elided:
            funcs.append(len(self.funcs) - 1)
            funcs += self._walk(self._anchor[node], MAX_PATH // 2)
        funcs.reverse()
        return funcs

    def _walk(self, node: int, most: int) -> list[int]:
        """Returns funcs from a node towards its root, at most `most`."""
        func, prefix = self._chart.func, self._chart.prefix
        funcs: list[int] = []
        while node >= 0 and len(funcs) < most:
            funcs.append(func[node])
            node = prefix[node]
        return funcs


class Call(NamedTuple):
    """A call node that stays on the stack for `us`, from `start_us` of the axis on."""

    node: int
    start_us: int
    us: int


def find_calls(chart: Chart, track: Track) -> list[Call]:
    """Returns the calls of a track in order of their start, callers before callees.

    A call ends where its node leaves the stack; idle and blank runs end all calls. It takes linear time.
    """
    depth: list[int] = []
    for prefix in chart.prefix:
        depth.append(depth[prefix] + 1 if prefix >= 0 else 0)
    begun: list[tuple[int, int]] = []
    ended_us: list[int] = []
    open_calls: list[int] = []  # indexes into `begun`, one per depth
    now = track.start_us
    for leaf, us in zip(track.node, track.us, strict=True):
        if us <= 0:
            continue
        node, entered = leaf, []
        while node >= 0 and not (depth[node] < len(open_calls) and begun[open_calls[depth[node]]][0] == node):
            entered.append(node)
            node = chart.prefix[node]
        kept = depth[node] + 1 if node >= 0 else 0
        for call in open_calls[kept:]:
            ended_us[call] = now
        del open_calls[kept:]
        for node in reversed(entered):
            open_calls.append(len(begun))
            begun.append((node, now))
            ended_us.append(now)
        now += us
    for call in open_calls:
        ended_us[call] = now
    return [Call(node, start, end - start) for (node, start), end in zip(begun, ended_us, strict=True)]
