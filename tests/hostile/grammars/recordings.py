"""Recordings of other tools by their grammars, each in all encodings and containers in which people have them."""

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any, Final

from hypothesis import strategies as st

from profcore.formats.importers.registry import read_file
from profcore.formats.importers.shapes import FileError
from tests.hostile.cases import RecordingCase
from tests.hostile.core_parts import DEFAULTS, IMPORT_LIMITS
from tests.hostile.edits import Edit, edit_json, pick
from tests.hostile.measuring import check_cpu
from tests.urls import LOCAL_FILE

NAMES: Final = (
    "f",
    "",
    "(root)",
    "(idle)",
    "(garbage collector)",
    "(program)",
    "größe",
    "🎈",
    "a\0",
    "<b>",
    "__proto__",
)
URLS: Final = (
    "https://a.example/x.js",
    "",
    "node:fs",
    f"{LOCAL_FILE}/a/b.js",
    "https://a.example/é.js?x#y",
    "evalmachine.<anonymous>",
)
STEPS: Final = pick([0, 1, 250, 1_000, 10_000, -500, 10_000_000])
Nodes = Sequence[tuple[int, int, int]]
NODES: Final = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99), st.integers(-1, 3)), min_size=1, max_size=12)
SAMPLES: Final = st.lists(st.tuples(st.integers(0, 99), STEPS), min_size=1, max_size=30)


def make_frame(name: int, url: int, line: int) -> dict[str, Any]:
    return {
        "functionName": NAMES[name % len(NAMES)],
        "scriptId": str(url),
        "url": URLS[url % len(URLS)],
        "lineNumber": line,
        "columnNumber": line * 7,
    }


def write_cpuprofile(nodes: Nodes, samples: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Returns a `.cpuprofile`: a node's callees come behind it."""
    children: dict[int, list[int]] = {}
    for at in range(1, len(nodes)):
        children.setdefault(nodes[at][0] % at, []).append(at + 1)
    return {
        "nodes": [
            {"id": at + 1, "callFrame": make_frame(*node), "children": children.get(at, []), "hitCount": 1}
            for at, node in enumerate(nodes)
        ],
        "samples": [1 + at % len(nodes) for at, _ in samples],
        "timeDeltas": [step for _, step in samples],
        "startTime": 1_000,
        "endTime": 1_000 + sum(step for _, step in samples),
    }


def write_events(nodes: Nodes, samples: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Returns trace events with a profile in two chunks, as DevTools write them."""
    common = {"pid": 1, "tid": 2, "cat": "disabled-by-default-v8.cpu_profiler", "id": "0x1", "ts": 5_000}
    half = len(samples) // 2
    tree = [
        {"id": at + 1, "callFrame": make_frame(*node), **({"parent": 1 + node[0] % at} if at else {})}
        for at, node in enumerate(nodes)
    ]
    chunks = []
    for part, more in ((samples[:half], tree), (samples[half:], [])):
        profile = {"nodes": more, "samples": [1 + at % len(nodes) for at, _ in part]}
        chunks.append({"cpuProfile": profile, "timeDeltas": [step for _, step in part]})
    return {
        "traceEvents": [
            {**common, "ph": "M", "name": "thread_name", "args": {"name": "CrRendererMain"}},
            {**common, "ph": "P", "name": "Profile", "args": {"data": {"startTime": 5_000}}},
            *({**common, "ph": "P", "name": "ProfileChunk", "args": {"data": chunk}} for chunk in chunks),
            {**common, "ph": "X", "name": "RunTask", "cat": "toplevel", "dur": 80_000, "args": {}},
        ]
    }


def write_speedscope(nodes: Nodes, samples: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Returns speedscope's own format: a sampled profile, and one of events."""
    frames = [
        {"name": NAMES[name % len(NAMES)], "file": URLS[url % len(URLS)], "line": line + 2, "col": 1}
        for name, url, line in nodes
    ]
    stacks = [[(at + more) % len(nodes) for more in range(at % 4)] for at, _ in samples]
    total = sum(abs(step) for _, step in samples)
    common = {"unit": "microseconds", "startValue": 0, "endValue": total}
    events = [{"type": kind, "frame": 0, "at": at} for kind, at in (("O", 0), ("C", total))]
    return {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": frames},
        "profiles": [
            {
                "type": "sampled",
                "name": "a",
                **common,
                "samples": stacks,
                "weights": [abs(step) for _, step in samples],
            },
            {"type": "evented", "name": "<b>", **common, "events": events},
        ],
        "name": "größe",
        "activeProfileIndex": 0,
    }


def write_firefox(nodes: Nodes, samples: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Returns a processed profile of Firefox, with a thread whose tables are in columns."""
    strings = [*NAMES, *URLS]
    count = len(nodes)
    funcs = [name % len(NAMES) for name, _, _ in nodes]
    sources = [len(NAMES) + url % len(URLS) for _, url, _ in nodes]
    time, times = 0.0, []
    for _, step in samples:
        time += step / 1_000
        times.append(time)
    thread = {
        "name": "GeckoMain",
        "processType": "default",
        "isMainThread": True,
        "pid": "1",
        "tid": 1,
        "registerTime": 0,
        "unregisterTime": None,
        "pausedRanges": [],
        "stringArray": strings,
        "samples": {
            "length": len(samples),
            "stack": [at % count for at, _ in samples],
            "time": times,
            "weight": None,
            "weightType": "samples",
        },
        "stackTable": {
            "length": count,
            "frame": list(range(count)),
            "category": [0] * count,
            "subcategory": [0] * count,
            "prefix": [None, *(node[0] % at for at, node in enumerate(nodes) if at)],
        },
        "frameTable": {
            "length": count,
            "func": list(range(count)),
            "category": [0] * count,
            "subcategory": [0] * count,
            "line": [1] * count,
            "column": [1] * count,
            "address": [-1] * count,
            "inlineDepth": [0] * count,
            "nativeSymbol": [None] * count,
            "innerWindowID": [0] * count,
        },
        "funcTable": {
            "length": count,
            "name": funcs,
            "isJS": [True] * count,
            "relevantForJS": [False] * count,
            "resource": [-1] * count,
            "fileName": sources,
            "lineNumber": [1] * count,
            "columnNumber": [1] * count,
        },
        "resourceTable": {"length": 0, "lib": [], "name": [], "host": [], "type": []},
        "markers": {"length": 0, "category": [], "data": [], "endTime": [], "name": [], "phase": [], "startTime": []},
        "nativeSymbols": {"length": 0, "libIndex": [], "address": [], "name": [], "functionSize": []},
    }
    meta = {
        "interval": 1,
        "startTime": 1.7e12,
        "version": 27,
        "preprocessedProfileVersion": 48,
        "product": "Firefox",
        "processType": 0,
        "categories": [{"name": "JavaScript", "color": "yellow", "subcategories": ["Other"]}],
        "markerSchema": [],
    }
    return {"meta": meta, "libs": [], "threads": [thread], "pages": [], "counters": []}


FORMATS: Final = (write_cpuprofile, write_events, write_speedscope, write_firefox)


def list_others(body: bytes) -> list[bytes]:
    """Returns the same file in other encodings and containers."""
    text = body.decode()
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("__MACOSX/._a.json", b"\0\5")
            archive.writestr("a/<b>.json", body)
        zipped = file.getvalue()
    half = len(body) // 2
    return [
        b"\xef\xbb\xbf" + body,
        text.encode("utf-16"),
        b"\xfe\xff" + text.encode("utf-16-be"),
        gzip.compress(body, mtime=0),
        gzip.compress(body[:half], mtime=0) + gzip.compress(body[half:], mtime=0),  # two members are one file
        zlib.compress(body),
        zipped,
        gzip.compress(b"\xef\xbb\xbf" + body, mtime=0),
    ]


def write_case(
    format_at: int, nodes: Nodes, samples: Sequence[tuple[int, int]], edits: Sequence[Edit]
) -> RecordingCase:
    """Returns a recording of a format, maybe after an edit that leaves it JSON, and its other forms."""
    body = json.dumps(FORMATS[format_at](nodes, samples), ensure_ascii=False).encode("utf-8", "surrogatepass")
    body = edit_json(body, edits)
    return RecordingCase(body, list_others(body))


# What leaves a document of JSON in UTF-8: the values of `set` and `like` may not.
MILD: Final = st.lists(
    st.builds(
        Edit,
        st.lists(st.integers(0, 40), min_size=1, max_size=7),
        pick(["remove", "repeat", "again", "swap", "nudge"]),
        st.just(0),
        pick([1, 2, 3, 7]),
    ),
    max_size=2,
)
RECORDINGS: Final = st.builds(write_case, st.integers(0, len(FORMATS) - 1), NODES, SAMPLES, st.just([]) | MILD)


def read(body: bytes) -> list[bytes] | str:
    """Returns the envelopes of a file, or why it is refused: the reason and its place in the recording."""
    try:
        return [imported.completed.body for imported in read_file("file", body, DEFAULTS, IMPORT_LIMITS)]
    except FileError as error:
        return f"{error.reason} {error.path}"


def check_recording(case: RecordingCase) -> None:
    """Reads a recording in all its forms: each gives the same traces, or the same refusal."""
    results: list[list[bytes] | str] = []
    check_cpu(lambda: results.extend(map(read, [case.body, case.body, *case.others])))
    for at, result in enumerate(results[1:]):
        assert result == results[0], f"form {at}: {str(result)[:300]} instead of {str(results[0])[:300]}"
