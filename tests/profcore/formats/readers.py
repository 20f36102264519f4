"""Small readers of the formats that we write, based on their descriptions and independent of the writers.

Each folds a file back into the self and total µs of every func, as `Sums`. The facts that the format has of a func are
its key, and a func that recurs counts once. Whole µs and exact thousandths of ms are read back exactly.
"""

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from profcore.formats.collapsed import unescape
from profcore.formats.slice import SliceExport


class Key(NamedTuple):
    """The facts of a func that a format has."""

    label: str
    uri: str | None = None
    line: int | None = None
    column: int | None = None


IDLE = Key("(idle)")


@dataclass
class Sums:
    """µs by func, the idle µs, and the number of each func's own samples if the format counts them."""

    self_us: dict[Key, float] = field(default_factory=dict)
    total_us: dict[Key, float] = field(default_factory=dict)
    idle_us: float = 0

    def add(self, path: Sequence[Key], us: float) -> None:
        """Adds a stack, root first."""
        if us and path:
            self.self_us[path[-1]] = self.self_us.get(path[-1], 0) + us
            for key in set(path):
                self.total_us[key] = self.total_us.get(key, 0) + us


def expected_sums(export: SliceExport) -> Sums:
    """Returns the expected result of every reader, from the export itself: it walks each path up, one by one."""
    sums = Sums(idle_us=export.time.idle_us)
    keys = [
        Key(_repaired(func.label) or "(anonymous)", func.uri, func.line or None, func.column or None)
        for func in export.funcs
    ]
    for node, us in enumerate(export.tree.self_us):
        path = []
        at = node
        while at >= 0:
            path.append(keys[export.tree.func[at]])
            at = export.tree.prefix[at]
        sums.add(path[::-1], us)
    sums.add([Key("(hidden)")], export.time.hidden_us)
    return sums


def _repaired(text: str) -> str:
    return "".join("\ufffd" if char == "\0" or "\ud800" <= char <= "\udfff" else char for char in text)


def read_cpuprofile(body: bytes) -> Sums:
    """Returns the sums of a `.cpuprofile`: a sample lasts until the next one's delta."""
    return _sum_profile(json.loads(body))


def read_trace_stacks(body: bytes) -> Sums:
    """Returns the sums of a trace's CPU profiles."""
    profiles: dict[tuple[int, str], dict[str, Any]] = {}
    for event in json.loads(body)["traceEvents"]:
        key = event["pid"], event.get("id", "")
        if event["name"] == "Profile":
            profiles[key] = {"nodes": [], "samples": [], "timeDeltas": []}
        elif event["name"] == "ProfileChunk":
            chunk = event["args"]["data"]
            profiles[key]["nodes"] += chunk.get("cpuProfile", {}).get("nodes", [])
            profiles[key]["samples"] += chunk.get("cpuProfile", {}).get("samples", [])
            profiles[key]["timeDeltas"] += chunk.get("timeDeltas", [])
    total = Sums()
    for profile in profiles.values():
        by_id = {node["id"]: node | {"children": []} for node in profile["nodes"]}
        for node in profile["nodes"]:
            if "parent" in node:
                by_id[node["parent"]]["children"].append(node["id"])
        _sum_profile(profile | {"nodes": list(by_id.values())}, total)
    return total


def _sum_profile(profile: dict[str, Any], sums: Sums | None = None) -> Sums:
    sums = sums or Sums()
    nodes = {node["id"]: node for node in profile["nodes"]}
    caller = {child: node["id"] for node in profile["nodes"] for child in node["children"]}
    assert len(profile["samples"]) == len(profile["timeDeltas"])
    for node_id, us in zip(profile["samples"], [*profile["timeDeltas"][1:], 0], strict=True):
        path = []
        at: int | None = node_id
        while at is not None:
            path.append(_frame_key(nodes[at]["callFrame"]))
            at = caller.get(at)
        assert path.pop() == Key("(root)")
        if path == [IDLE]:
            sums.idle_us += us
        else:
            sums.add(path[::-1], us)
    return sums


def _frame_key(frame: dict[str, Any]) -> Key:
    def one_based(position: int) -> int | None:
        return None if position < 0 else position + 1

    name = frame["functionName"]
    return Key(name, frame["url"] or None, one_based(frame["lineNumber"]), one_based(frame["columnNumber"]))


def read_trace_paths(body: bytes) -> Sums:
    """Returns the sums of a trace's slices: the outer slice calls the inner one."""
    sums = Sums()
    threads: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in json.loads(body)["traceEvents"]:
        if event["ph"] == "X":
            threads.setdefault((event["pid"], event["tid"]), []).append(event)
    for events in threads.values():
        events.sort(key=lambda event: event["ts"])
        opened: list[tuple[Key, float, list[float]]] = []
        for event in [*events, None]:
            while opened and (event is None or event["ts"] >= opened[-1][1]):
                path = [key for key, _, _ in opened]
                _, _, rest = opened.pop()
                sums.add(path, rest[0])
            if event is not None:
                assert not opened or event["ts"] + event["dur"] <= opened[-1][1], "slices overlap"
                if opened:
                    opened[-1][2][0] -= event["dur"]
                opened.append((_slice_key(event), event["ts"] + event["dur"], [event["dur"]]))
    return sums


def _slice_key(event: dict[str, Any]) -> Key:
    args = event["args"]
    if "uri" not in args:
        return Key(event["name"].removesuffix(" [built-in]").removesuffix(" [group]"))
    return Key(event["name"].rpartition(" (")[0], args["uri"], args.get("line"), args.get("column"))


def read_speedscope(body: bytes) -> Sums:
    """Returns the sums of a speedscope file of sampled profiles; empty stacks are idle time."""
    document = json.loads(body)
    keys = [Key(f["name"], f.get("file"), f.get("line"), f.get("col")) for f in document["shared"]["frames"]]
    sums = Sums()
    for profile in document["profiles"]:
        assert (profile["type"], profile["unit"]) == ("sampled", "microseconds")
        assert profile["endValue"] - profile["startValue"] == sum(profile["weights"])
        for stack, us in zip(profile["samples"], profile["weights"], strict=True):
            sums.add([keys[frame] for frame in stack], us)
            sums.idle_us += 0 if stack else us
    return sums


def read_collapsed(body: bytes) -> Sums:
    """Returns the sums of collapsed stacks, split as readers do (lines, last space, `;`) into labels and places."""
    sums = Sums()
    for line in body.decode().splitlines():
        stack, _, us = line.rpartition(" ")
        assert " " not in stack
        sums.add([Key(unescape(frame)) for frame in stack.split(";")], int(us))
    return sums


def _collapsed_key(key: Key) -> Key:
    place = ":".join(str(part) for part in key[1:] if part is not None)
    return Key(f"{key.label} {place}" if key.uri is not None else key.label)


def _chrome_key(key: Key) -> Key:
    reserved = {"(root)", "(idle)", "(program)", "(garbage collector)"}
    return key._replace(label=f"{key.label} [page]") if key.label in reserved else key


def read_csv(body: bytes) -> Sums:
    """Returns the sums of the table."""
    sums = Sums()
    for row in csv.DictReader(io.StringIO(body.decode(), newline="")):
        self_us, total_us = float(row["self_ms"]) * 1000, float(row["total_ms"]) * 1000
        if row["kind"] == "part":
            if row["label"] == "(hidden)":
                sums.add([Key("(hidden)")], round(self_us))
            elif row["label"] == "(idle)":
                sums.idle_us = round(self_us)
            continue
        key = Key(_unguarded(row["label"]) or "(anonymous)", *_csv_place(row))
        for into, us in ((sums.self_us, self_us), (sums.total_us, total_us)):
            if us:
                into[key] = into.get(key, 0) + round(us)
    return sums


def _csv_place(row: dict[str, str]) -> tuple[str | None, int | None, int | None]:
    line, column = (int(row[name]) if row[name] else None for name in ("line", "column"))
    return _unguarded(row["uri"]) or None, line, column


def _unguarded(cell: str) -> str:
    return cell[1:] if cell.startswith("'") else cell


def read_firefox(body: bytes) -> Sums:
    """Returns the sums of a Firefox profile's first thread; a sample without a stack is idle time."""
    profile = json.loads(body)
    shared, samples = profile["shared"], profile["threads"][0]["samples"]
    strings, table = shared["stringArray"], shared["funcTable"]
    keys = []
    for name, source, line, column in zip(
        table["name"], table["source"], table["lineNumber"], table["columnNumber"], strict=True
    ):
        uri = None if source is None else strings[shared["sources"]["filename"][source]]
        keys.append(Key(strings[name], uri, line, column))
    frames, offsets = shared["stackTable"]["frame"], shared["stackTable"]["prefixOffset"]
    sums = Sums()
    for stack, weight in zip(samples["stack"], samples["weight"], strict=True):
        path = []
        at = stack
        while at is not None:
            path.append(keys[shared["frameTable"]["func"][frames[at]]])
            at = at - offsets[at] if offsets[at] else None
        sums.add(path[::-1], round(weight * 1000))
        sums.idle_us += 0 if path else round(weight * 1000)
    return sums


Fields = dict[int, list[Any]]


def read_pprof(body: bytes) -> Sums:
    """Returns the sums of a gzipped pprof profile, from the value in microseconds."""
    profile = decode_message(gzip.decompress(body))
    strings = [text.decode() for text in profile[6]]
    types = [decode_message(value) for value in profile[1]]
    (at,) = [place for place, value in enumerate(types) if strings[value[2][0]] == "microseconds"]
    functions = {function[1][0]: function for function in map(decode_message, profile.get(5, []))}
    keys = {}
    for location in map(decode_message, profile.get(4, [])):
        (line,) = map(decode_message, location[4])
        function = functions[line[1][0]]
        file = strings[function[4][0]] if 4 in function else None
        keys[location[1][0]] = Key(strings[function[2][0]], file, line.get(2, [None])[0], line.get(3, [None])[0])
        assert function.get(5) == line.get(2)
    sums = Sums()
    for sample in map(decode_message, profile.get(2, [])):
        path = [keys[location] for location in decode_packed(sample[1][0])]
        values = decode_packed(sample[2][0])
        assert len(values) == len(types)
        sums.add(path[::-1], values[at])
    return sums


def decode_message(content: bytes) -> Fields:
    """Returns a protocol buffer decoded without its schema: numbers and bytes by field."""
    fields: Fields = {}
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        value: Any
        value, at = _varint(content, at)
        if tag & 7 == 2:
            value, at = content[at : at + value], at + value
        else:
            assert tag & 7 == 0
        fields.setdefault(tag >> 3, []).append(value)
    assert at == len(content)
    return fields


def decode_packed(content: bytes) -> list[int]:
    """Returns a decoded packed list of signed numbers."""
    numbers, at = [], 0
    while at < len(content):
        number, at = _varint(content, at)
        numbers.append(number - (1 << 64) if number >> 63 else number)
    return numbers


def _varint(content: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = content[at]
        number |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            return number, at


@dataclass(frozen=True, kw_only=True)
class FormatReader:
    """How a format is read back: `key` returns what it says of a func, `idle` says whether it has idle time.

    `views` says whether views on their clocks can be read back in this way too.
    """

    exporter: str
    read: Callable[[bytes], Sums]
    key: Callable[[Key], Key] = lambda key: key
    idle: bool = True
    views: bool = True


READERS = {
    "firefox": FormatReader(
        exporter="firefox", read=read_firefox, views=False
    ),  # on a clock, its totals have the hidden time below
    "cpuprofile": FormatReader(exporter="cpuprofile", read=read_cpuprofile, key=_chrome_key),
    "trace-event stacks": FormatReader(exporter="trace-event", read=read_trace_stacks, key=_chrome_key),
    "trace-event paths": FormatReader(exporter="trace-event", read=read_trace_paths, idle=False),
    "speedscope": FormatReader(exporter="speedscope", read=read_speedscope),
    "collapsed": FormatReader(exporter="collapsed", read=read_collapsed, key=_collapsed_key, idle=False),
    "pprof": FormatReader(exporter="pprof", read=read_pprof, idle=False),
    "csv": FormatReader(exporter="csv", read=read_csv),
}


def format_sums(export: SliceExport, reader: FormatReader) -> Sums:
    """Returns the expected result of a format's reader for an export."""
    expected = expected_sums(export)
    sums = Sums(idle_us=expected.idle_us if reader.idle else 0)
    for into, of in ((sums.self_us, expected.self_us), (sums.total_us, expected.total_us)):
        for key, us in of.items():
            named = reader.key(key)
            assert named not in into, "two funcs that the format cannot tell apart"
            into[named] = us
    return sums


def texts_of(profile: dict[str, Any]) -> dict[str, str | None]:
    """Returns the texts of the sources of a Firefox profile, by path or URL."""
    shared = profile["shared"]
    names = [shared["stringArray"][index] for index in shared["sources"]["filename"]]
    return dict(zip(names, shared["sources"]["content"], strict=True))
