"""Forced style and layout of a view, by function. A script forces it by reading a size, say, after a write.

There are two sources, and a view has one of them:
- Measured. Its samples have markers. A sample with a stack and the marker `style` or `layout` is forced work of the
  function on top, for the time that the sample stands for.
- Attributed. A long animation frame says how much of each script was forced (`forcedStyleAndLayoutDuration`), not by
  which function. The script's forced time is shared out among the functions that samples saw in it: in proportion to
  their own time there, times the part of its own time that a function forces in all scripts of the view. That part is
  found by repetition (`find_rates`). Only samples count whose stack has a function of the script's address, if it has
  one. Without any, the time is unattributed.

All times are integer µs, so that `attributed + unattributed = the marks' sum`, exactly. Source of the marks:
https://w3c.github.io/long-animation-frames/#dom-performancescripttiming-forcedstyleandlayoutduration
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Final, NamedTuple

from profcore.formats.timeline import NO_MARKER, NO_STACK, ViewTimeline
from profcore.sums.fold import FuncSums, place_funcs, sum_placed
from profcore.trace.addresses import canonical_uri
from profcore.trace.funcs import FuncKey
from profcore.trace.hidden import Range
from profcore.trace.mark_types import LONG_FRAME, START_NAMES
from profcore.trace.marks import (
    MAX_FACT_CHARS,
    SCRIPT_FORCED,
    SCRIPT_FUNCTION,
    SCRIPT_POSITION,
    SCRIPT_URL,
    Fact,
    TimelineMark,
    is_own_script,
    script_ms,
    script_text,
)
from profcore.trace.weights import MARKER_INDEX, to_us
from profcore.vitals.func_times import FuncTimes
from profcore.vitals.window_sums import SampleTimes
from profcore.vitals.windows import unite

# On four pages of ten random scripts, one round was wrong by half of the forced time, five by 6 %, ten by 2 %.
ROUNDS: Final = 10
DURATION_NAMES: Final = ("duration",)
# What the engine does when a script forces it.
FORCED_MARKERS: Final = frozenset({MARKER_INDEX["style"], MARKER_INDEX["layout"]})


class ForcedScript(NamedTuple):
    """A script of a long animation frame: `[start, end)` on the view's clock, µs, not empty.

    `address` is that of the script, "" if the mark does not tell. `forced_us` is at most its length, and may be 0. It
    `is_hidden` if the browser says that it may not tell its function and position.
    """

    start_us: int
    end_us: int
    forced_us: int
    address: str
    is_hidden: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ForcedLayout:
    """Forced style and layout of a view, µs.

    Self times of `funcs` are forced by the function on top; totals by it or by what it called. `unattributed_us` is
    what no sample was found for, 0 if it `is_measured`. `own` are the times of the view's functions, whatever they did.
    """

    is_measured: bool
    funcs: FuncTimes
    unattributed_us: int
    own: FuncTimes

    @property
    def total_us(self) -> int:
        """All forced time of the view."""
        return int(self.funcs.self_us.sum()) + self.unattributed_us


def sum_forced_layout(
    timeline: ViewTimeline, scripts: Sequence[ForcedScript], keys: Sequence[FuncKey], times: SampleTimes
) -> ForcedLayout:
    """Returns the forced style and layout of a view. Its stacks index `keys`; `times` are those of its samples.

    `scripts` are those of its marks (`find_scripts`).
    """
    samples, stack_count = timeline.samples, len(timeline.prefix)
    is_measured = any(marker != NO_MARKER for marker in samples.marker)
    forced_us, self_us, self_samples, hidden_us = ([0] * stack_count for _ in range(4))
    unattributed_us = 0
    if not is_measured:
        unattributed_us = _share_scripts(timeline, scripts, keys, times, into=forced_us)
    for start, end, place in times.rows():
        if (stack := samples.stack[place]) != NO_STACK:
            self_us[stack] += end - start
            self_samples[stack] += 1
            if samples.marker[place] in FORCED_MARKERS:
                forced_us[stack] += end - start
        elif (stack := samples.hidden_stack[place]) != NO_STACK:
            hidden_us[stack] += end - start
    placed, sums = place_funcs(timeline.prefix, timeline.func), FuncSums()
    if any(forced_us):  # most views force nothing
        sums = sum_placed(timeline.prefix, placed, forced_us, [us > 0 for us in forced_us], [0] * stack_count)
    return ForcedLayout(
        is_measured=is_measured,
        funcs=FuncTimes.of_sums(sums),
        unattributed_us=unattributed_us,
        own=FuncTimes.of_sums(sum_placed(timeline.prefix, placed, self_us, self_samples, hidden_us)),
    )


def find_scripts(marks: Iterable[TimelineMark]) -> list[ForcedScript]:
    """Returns the scripts of long animation frames, in order and without overlap, with what they forced.

    A client may send any numbers. A script lies in its frame, and begins after the one before; what it forced is cut at
    its length. So all together are never longer than their frames. The snippet's own scripts are left out.
    """
    return part_scripts(
        script
        for mark in marks
        if mark.type == LONG_FRAME
        for facts in mark.scripts
        if not is_own_script(facts) and (script := _read_script(mark, facts)) is not None
    )


def part_scripts(scripts: Iterable[ForcedScript]) -> list[ForcedScript]:
    """Returns scripts in order. Each begins after the one before, and forced at most its length."""
    apart: list[ForcedScript] = []
    for script in sorted(scripts):
        start_us = max(script.start_us, apart[-1].end_us) if apart else script.start_us
        if start_us < script.end_us:
            forced_us = min(script.forced_us, script.end_us - start_us)
            apart.append(script._replace(start_us=start_us, forced_us=forced_us))
    return apart


def keep_whole(address: str) -> str:
    """Returns an address as facts have it, "" if it was cut."""
    return address if len(address) < MAX_FACT_CHARS else ""


def _read_script(mark: TimelineMark, facts: Mapping[str, Fact]) -> ForcedScript | None:
    """Returns a script within its frame; None if nothing of it is. Its start is in ms after the frame's."""
    start_us, took_us, forced_us = (
        to_us(min(max(script_ms(facts, *names), 0.0), mark.duration_us / 1000))
        for names in (START_NAMES, DURATION_NAMES, SCRIPT_FORCED)
    )
    start_us += mark.start_us
    end_us = min(start_us + took_us, mark.end_us)
    if start_us >= end_us:
        return None
    address = script_text(facts, *SCRIPT_URL)
    is_hidden = script_ms(facts, *SCRIPT_POSITION) < 0 and not script_text(facts, *SCRIPT_FUNCTION)
    return ForcedScript(start_us, end_us, forced_us, keep_whole(address), is_hidden)


def _share_scripts(
    timeline: ViewTimeline,
    scripts: Sequence[ForcedScript],
    keys: Sequence[FuncKey],
    times: SampleTimes,
    *,
    into: list[int],
) -> int:
    """Adds what scripts forced to the stacks that ran in them. Returns what is left unattributed."""
    if not any(script.forced_us for script in scripts):  # as in most views
        return 0
    paths = _CallPaths(timeline, keys, {script.address for script in scripts})
    seen = [(script.forced_us, _read_samples(timeline, times, script, paths)) for script in scripts]
    rates = find_rates(seen, timeline.func)
    unattributed_us = 0
    for forced_us, ran_us in seen:
        weights = {stack: us * rates[timeline.func[stack]] for stack, us in ran_us.items()}
        unattributed_us += forced_us
        for stack, us in share_out(forced_us, weights):
            into[stack] += us
            unattributed_us -= us
    return unattributed_us


def _read_samples(
    timeline: ViewTimeline, times: SampleTimes, script: ForcedScript, paths: "_CallPaths"
) -> Counter[int]:
    """Returns the µs of each stack in a script, from the samples that begin in it."""
    samples = timeline.samples
    ran_us: Counter[int] = Counter()
    for at in range(bisect_left(times.start, script.start_us), bisect_left(times.start, script.end_us)):
        place = times.place[at]
        stack = max(samples.stack[place], samples.hidden_stack[place])  # a sample has at most one of both
        if stack != NO_STACK and paths.has(stack, script.address):
            ran_us[stack] += min(times.end[at], script.end_us) - times.start[at]
    return ran_us


def find_rates(seen: Sequence[tuple[int, Mapping[int, int]]], func: Sequence[int]) -> Mapping[int, float]:
    """Returns which part of its own time each func forces, from (forced µs, own µs by stack) of a view's scripts.

    Scripts that ran a function and forced little say that it is another one that forces. All begin alike. Each round
    shares out the scripts' forced time by the parts of the round before, and takes a function's part of it. This is
    expectation maximisation of the likelihood if forced time is Poisson, as of Richardson and Lucy.
    """
    rates = dict.fromkeys((func[stack] for _, ran_us in seen for stack in ran_us), 1.0)
    own_us: Counter[int] = Counter()
    for _, ran_us in seen:
        for stack, us in ran_us.items():
            own_us[func[stack]] += us
    for _ in range(ROUNDS):
        forced_us = dict.fromkeys(rates, 0.0)
        for script_us, ran_us in seen:
            whole = _add(us * rates[func[stack]] for stack, us in ran_us.items()) if script_us else 0.0
            if whole > 0:
                for stack, us in ran_us.items():
                    forced_us[func[stack]] += script_us * us * rates[func[stack]] / whole
        rates = {index: us / own_us[index] for index, us in forced_us.items()}
    return rates


def share_out(us: int, weights: Mapping[int, float]) -> Iterator[tuple[int, int]]:
    """Yields the part of a time that each key gets, in proportion to its weight: whole µs that add up to it.

    Without any weight there are no parts.
    """
    whole, passed, given = _add(weights.values()), 0.0, 0
    for key, weight in weights.items() if whole > 0 else ():
        passed += weight
        part = round(us * (passed / whole)) - given
        given += part
        yield key, part


def _add(values: Iterable[float]) -> float:
    """Returns a sum of floats, added one by one as in the compiled kernel. `sum` compensates since Python 3.12."""
    return reduce(add, values, 0.0)


class _CallPaths:
    """Which call paths have a function of a script, for some addresses of scripts.

    Stacks are numbered so that a stack and all below it are one range. So each answer takes O(log stacks), whatever a
    client sends: a path may have thousands of calls.
    """

    def __init__(self, timeline: ViewTimeline, keys: Sequence[FuncKey], addresses: Collection[str]) -> None:
        prefix = timeline.prefix
        sizes = [1] * len(prefix) + [0]  # the last is for the prefix of roots, -1
        for stack in range(len(prefix) - 1, -1, -1):
            sizes[prefix[stack]] += sizes[stack]
        self.numbers = [0] * len(prefix)
        free = [0] * (len(prefix) + 1)
        for stack, parent in enumerate(prefix):
            self.numbers[stack] = free[parent]
            free[stack] = free[parent] + 1
            free[parent] += sizes[stack]
        # Addresses of functions are in canonical spelling, except those of inline scripts, which have the page's route.
        wanted = {form: address for address in sorted(addresses) for form in (address, canonical_uri(address))}
        ranges: dict[str, list[Range]] = {address: [] for address in addresses}
        for stack, func in enumerate(timeline.func):
            if (address := wanted.get(keys[func].uri or "")) is not None:
                ranges[address].append((self.numbers[stack], self.numbers[stack] + sizes[stack]))
        self.ranges = {address: unite(of_address) for address, of_address in ranges.items()}

    def has(self, stack: int, address: str) -> bool:
        """Returns whether a function of a script is on a call path; any is if the address is not known."""
        ranges, number = self.ranges[address], self.numbers[stack]
        at = bisect_right(ranges, (number, math.inf)) - 1
        return not address or (at >= 0 and number < ranges[at][1])
