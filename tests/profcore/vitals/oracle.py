"""The windows of a view and the script time of functions in them, computed anew from the JSON of its envelopes.

It shares no code with the core, except the settled interval: it adds up microseconds one by one function, sample and
window at a time, by the rules as docs/vitals.md says them.
"""

from collections import Counter
from itertools import pairwise
from math import floor
from typing import Any

from profcore.trace.intervals import settle_interval

Json = dict[str, Any]  # Any: JSON
Func = tuple[str | None, int | None, int | None, str]


def us(ms: float) -> int:
    return floor(ms * 1000 + 0.5)


def start_of(envelope: Json) -> float:
    return float(envelope["viewStart"] if "viewStart" in envelope else envelope["timeOrigin"])


def windows_of(envelopes: list[Json]) -> dict[str, list[tuple[int, int]]]:
    """Returns the windows of a view, each as ranges of µs on its clock that do not overlap."""
    start = min(map(start_of, envelopes))
    marks = []
    for envelope in envelopes:
        shift = us(envelope["timeOrigin"] - start)
        for mark in envelope["marks"]:
            first = us(mark["start"])
            entry = {"type": mark["type"], "from": first + shift, "to": us(mark["start"] + mark["duration"]) + shift}
            if mark["type"] == "interaction":
                entry |= {"id": mark["interactionId"]}
                entry |= {
                    name: first + shift + round((mark[name] - mark["start"]) * 1000)
                    for name in ("processingStart", "processingEnd")
                }
            marks.append(entry)
    windows: dict[str, list[tuple[int, int]]] = {}
    paints = [mark["to"] for mark in marks if mark["type"] == "largest-contentful-paint"]
    if paints:
        windows["lcp"] = [(0, max(paints))]
    frames = sorted({(mark["from"], mark["to"]) for mark in marks if mark["type"] == "long-animation-frame"})
    if frames:
        windows["long_frames"] = frames
    events = [mark for mark in marks if mark["type"] == "interaction"]
    if events:
        longest = sorted(events, key=lambda mark: (mark["from"] - mark["to"], mark["from"]))[0]
        same = [m for m in events if m["id"] == longest["id"] and abs(m["to"] - longest["to"]) <= 8_000]
        edges = [
            longest["from"],
            min(m["processingStart"] for m in same),
            max(m["processingEnd"] for m in same),
            longest["to"],
        ]
        for place in (1, 2):
            edges[place] = min(max(edges[place], edges[place - 1]), edges[3])
        windows["interaction"] = [(edges[0], edges[3])]
        for name, place in (("input_delay", 0), ("processing", 1), ("presentation", 2)):
            windows[name] = [(edges[place], edges[place + 1])]
    return windows


def script_in(envelopes: list[Json], ranges: list[tuple[int, int]]) -> tuple[Counter[Func], Counter[Func]]:
    """Returns self and total script µs by function in some ranges. The traces of the view must not overlap."""
    start = min(map(start_of, envelopes))
    self_us: Counter[Func] = Counter()
    everything: Counter[Func] = Counter()
    columns = [(column, envelope) for envelope in envelopes if (column := _times(envelope, start))]
    columns.sort(key=lambda pair: pair[0][0][0])
    for number, (column, envelope) in enumerate(columns):
        if number + 1 < len(columns):  # the next trace may begin before the last sample's interval is over
            begins = columns[number + 1][0][0][0]
            assert column[-1][0] <= begins
            column[-1] = column[-1][0], min(column[-1][1], begins), column[-1][2]
        for begins, ends, stack in column:
            took = sum(max(0, min(ends, to) - max(begins, first)) for first, to in ranges)
            if not took or stack is None:
                continue
            path = _path(envelope["trace"], stack)
            if _is_profiler(path, _snippet_of(envelope)):
                continue
            self_us[path[0]] += took
            for func in set(path):
                everything[func] += took
    return self_us, everything


def hidden_in(envelopes: list[Json], ranges: list[tuple[int, int]]) -> int:
    """Returns the hidden µs in some ranges, by the rules of docs/weights.md. Traces must not overlap."""
    start = min(map(start_of, envelopes))
    columns = [(column, envelope) for envelope in envelopes if (column := _times(envelope, start))]
    columns.sort(key=lambda pair: pair[0][0][0])
    took = 0
    for number, (column, envelope) in enumerate(columns):
        begins_next = columns[number + 1][0][0][0] if number + 1 < len(columns) else column[-1][1]
        for place, (begins, ends, _) in enumerate(column):
            if _is_hidden(envelope, column, place, us(envelope["timeOrigin"] - start)):
                until = min(ends, begins_next)
                took += sum(max(0, min(until, to) - max(begins, first)) for first, to in ranges)
    return took


def _is_hidden(envelope: Json, column: list[tuple[int, int, int | None]], place: int, shift: int) -> bool:
    at, _, stack = column[place]
    if stack is not None:
        return False
    marks = envelope["marks"]
    frames = [mark for mark in marks if mark["type"] == "long-animation-frame" and "scripts" in mark]
    scripts = [
        (us(script["start"]), us(script["start"] + script["duration"]), script.get("url") == _snippet_of(envelope))
        for mark in frames
        for script in mark["scripts"]
    ]

    def is_own(sample: tuple[int, int, int | None]) -> bool:
        return sample[2] is None and any(own and first <= sample[0] - shift < to for first, to, own in scripts)

    if is_own(column[place]):
        return False
    in_script = any(first <= at - shift < to for first, to, _ in scripts)
    tasks = [(us(m["start"]), us(m["start"] + m["duration"])) for m in marks if m["type"] == "longtask"]
    covering = [task for task in tasks if task[0] <= at - shift < task[1]]
    if not covering:  # no recorded sample has a marker
        return False
    first, to = max(covering)
    # What ran of the snippet is no side, and nothing is beyond it.
    sides = [
        next((sample for sample in samples if sample[2] is not None or is_own(sample)), None)
        for samples in (column[place::-1], column[place:])
    ]
    is_between = all(
        sample is not None and sample[2] is not None and first <= sample[0] - shift < to for sample in sides
    )
    return not frames or in_script or is_between


def _times(envelope: Json, start: float) -> list[tuple[int, int, int | None]]:
    """Returns start, end and stack of each sample, on the view's clock."""
    samples = sorted(envelope["trace"]["samples"], key=lambda sample: us(sample["timestamp"]))
    if not samples:
        return []
    times = [us(sample["timestamp"]) for sample in samples]
    gaps = [after - before for before, after in pairwise(times)]
    interval = settle_interval(us(envelope["sampleInterval"]), sorted(gaps))
    shift = us(envelope["timeOrigin"] - start)
    return [
        (time + shift, time + shift + min(gap, 10 * interval), sample.get("stackId"))
        for time, gap, sample in zip(times, [*gaps, interval], samples, strict=True)
    ]


def _snippet_of(envelope: Json) -> str:
    """Returns the address of the snippet's script, which is no part of any recorded page's own work."""
    return str(envelope.get("snippet", {}).get("url"))


def _is_profiler(path: list[Func], snippet: str) -> bool:
    """Returns whether a stack, from its leaf, ends in the snippet, the profiler, or built-ins that these called."""
    for uri, line, _, name in path:
        if uri == snippet or (uri is None and line is None and name in ("Profiler", "stop")):
            return True
        if uri is not None or line is not None:
            return False
    return False


def _path(trace: Json, stack: int) -> list[Func]:
    path: list[Func] = []
    at: int | None = stack
    while at is not None:
        row = trace["stacks"][at]
        frame = trace["frames"][row["frameId"]]
        resource = frame.get("resourceId")
        uri = None if resource is None else trace["resources"][resource]
        path.append((uri, frame.get("line"), frame.get("column"), frame["name"]))
        at = row.get("parentId")
    return path
