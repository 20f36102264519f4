"""A chart: what the formats of stacks and samples are written from, once for slices and views of any kind.

A chart has call nodes over distinct funcs, and tracks. A track is an axis from left to right without a hole: each run
on it is a call node, or no stack, for so many µs. In a slice the axis is the running sum of the weights, depth first,
heaviest first: an icicle with true widths, and no clock.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from profcore.weights import TimeParts

HIDDEN: Final = "(hidden)"
# What a run is that is no call node: time without a stack and without a sign of work, or time that is left blank.
IDLE: Final = -1
BLANK: Final = -2
Fact = str | int | float | list[str]


class Place(NamedTuple):
    """Where a func is defined. `line` and `column` are 1-based, None where unknown."""

    uri: str
    line: int | None
    column: int | None


class ChartFunc(NamedTuple):
    """A func as it is written: every text may be, and no two of a chart are equal.

    `script` is where the browser found it, `original` where a source map puts it; a built-in has neither. `is_page` is
    false for what we add ourselves, such as `(hidden)`.
    """

    label: str
    script: Place | None
    original: Place | None
    is_page: bool = True

    @property
    def place(self) -> Place | None:
        """Where a person looks for it: the original, where it is known."""
        return self.original or self.script


HIDDEN_FUNC: Final = ChartFunc(HIDDEN, None, None, is_page=False)


class ChartMark(NamedTuple):
    """Something timed beside the stacks: µs on the axis, 0 µs for a moment. Every text may be written."""

    name: str
    start_us: int
    us: int
    facts: Mapping[str, str | int | float]


@dataclass(slots=True)
class Track:
    """Runs by column: a call node, or `IDLE` or `BLANK`; for so many µs (≥ 0); of so many samples.

    `start_us` is where the axis begins. Runs of 0 µs have samples that weigh nothing.
    """

    name: str
    start_us: int = 0
    node: list[int] = field(default_factory=list)
    us: list[int] = field(default_factory=list)
    samples: list[int] = field(default_factory=list)
    marks: Sequence[ChartMark] = ()

    def add(self, node: int, us: int, samples: int) -> None:
        """Adds a run at the end, or to the last one where it goes on."""
        if self.node and self.node[-1] == node:
            self.us[-1] += us
            self.samples[-1] += samples
        elif us or samples:
            self.node.append(node)
            self.us.append(us)
            self.samples.append(samples)

    @property
    def end_us(self) -> int:
        """Where the axis ends."""
        return self.start_us + sum(self.us)


@dataclass(frozen=True, slots=True)
class Chart:
    """What a file says. Callers come before callees; a root's prefix is -1; `func` indexes `funcs`.

    `is_clock` tells whether the axis is a clock. `facts` are told where a format has room for them, by snake-case
    name; `started_at_ms` is epoch ms.
    """

    title: str
    funcs: Sequence[ChartFunc]
    prefix: Sequence[int]
    func: Sequence[int]
    tracks: Sequence[Track]
    time: TimeParts
    interval_us: int
    started_at_ms: float
    facts: Mapping[str, Fact]
    is_clock: bool = False

    def sum_runs(self, tracks: Sequence[Track] | None = None) -> tuple[list[int], list[int]]:
        """Returns the self µs and samples of each node, over some tracks or all."""
        self_us, self_samples = [0] * len(self.func), [0] * len(self.func)
        for track in self.tracks if tracks is None else tracks:
            for node, us, samples in zip(track.node, track.us, track.samples, strict=True):
                if node >= 0:
                    self_us[node] += us
                    self_samples[node] += samples
        return self_us, self_samples

    def path(self, node: int) -> list[int]:
        """Returns the funcs on the stack of a node, root first; none for `IDLE` and `BLANK`."""
        funcs = []
        while node >= 0:
            funcs.append(self.func[node])
            node = self.prefix[node]
        funcs.reverse()
        return funcs


class Call(NamedTuple):
    """A call node that stays on the stack from `start_us` of the axis on, for `us`."""

    node: int
    start_us: int
    us: int


def find_calls(chart: Chart, track: Track) -> list[Call]:
    """Returns the calls of a track in order of their beginning, callers before callees.

    A call ends where its node leaves the stack; idle and blank runs end all. Takes as long as there are calls and runs.
    """
    depth: list[int] = []
    for prefix in chart.prefix:
        depth.append(depth[prefix] + 1 if prefix >= 0 else 0)
    begun: list[tuple[int, int]] = []
    ended_us: list[int] = []
    open_calls: list[int] = []  # indexes into `begun`, one for each depth
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
