"""A lint for Firefox profiles, version 66: all rules of a good file that no reader checks.

Written from the format's description, apart from the writer. A file is looked at as JSON gave it, hence `Any`.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

from profcore.sums.calltree import CallTree
from tests.profcore.formats.firefox.lint_markers import clock_faults, marker_faults, schema_faults

COLUMNS = {
    "stackTable": "frame prefixOffset",
    "frameTable": (
        "address inlineDepth category subcategory func nativeSymbol innerWindowID line column originalLocation"
    ),
    "funcTable": "name isJS relevantForJS resource source lineNumber columnNumber originalLocation",
    "resourceTable": "lib name host type",
    "nativeSymbols": "libIndex address name functionSize",
    "sources": "id filename startLine startColumn sourceMapURL content",
    "sourceLocationTable": "source line column",
}
# (table, column, table pointed at, the value that points nowhere if there is one)
NO_NULL = object()
INDEXES: tuple[tuple[str, str, str, object], ...] = (
    ("stackTable", "frame", "frameTable", NO_NULL),
    ("frameTable", "func", "funcTable", NO_NULL),
    ("frameTable", "originalLocation", "sourceLocationTable", None),
    ("funcTable", "name", "stringArray", NO_NULL),
    ("funcTable", "resource", "resourceTable", -1),
    ("funcTable", "source", "sources", None),
    ("funcTable", "originalLocation", "sourceLocationTable", None),
    ("resourceTable", "name", "stringArray", NO_NULL),
    ("resourceTable", "host", "stringArray", None),
    ("sources", "filename", "stringArray", NO_NULL),
    ("sources", "sourceMapURL", "stringArray", None),
    ("sourceLocationTable", "source", "sources", NO_NULL),
)
# The rows of these tables are interned; a second equal row splits what a person sees as one.
IDENTITIES = {
    "funcTable": "name isJS relevantForJS resource source lineNumber columnNumber",
    "resourceTable": "name type",
    "sources": "filename",
}
PALETTE = "transparent purple green orange yellow lightblue blue brown magenta red lightred darkgrey grey"
META_FIELDS = {
    "version": int,
    "preprocessedProfileVersion": int,
    "interval": float,
    "startTime": int,
    "processType": int,
    "stackwalk": int,
    "product": str,
    "symbolicated": bool,
    "categories": list,
    "markerSchema": list,
}
WIDE_MS = 0.001_001  # cut to whole µs
SAMPLE_COLUMNS = "stack timeDeltas weight"
MARKER_COLUMNS = "data name startTime endTime phase category"
THREAD_FIELDS = (
    "name isMainThread pid tid processType processStartupTime registerTime processShutdownTime unregisterTime "
    "pausedRanges samples markers"
)
Profile = dict[str, Any]


def find_faults(profile: Profile) -> list[str]:
    """Returns a sentence for every fault; a good profile has none."""
    faults = list(_shape_faults(profile)) or list(schema_faults(profile))
    if faults:  # what follows takes the shape and the schemas for granted
        return faults
    checks: tuple[Callable[[Profile], Iterator[str]], ...] = (
        _index_faults,
        _position_faults,
        _stack_faults,
        _identity_faults,
        _category_faults,
        _thread_faults,
    )
    return [fault for check in checks for fault in check(profile)]


def load_good(body: bytes) -> Profile:
    """Returns a decoded profile after asserting that it has no faults."""
    profile: Profile = json.loads(body)
    assert find_faults(profile) == []
    return profile


def _table_faults(name: str, table: Profile, columns: str) -> Iterator[str]:
    expected = set(columns.split())
    if missing := expected - set(table):
        yield f"{name} lacks {sorted(missing)}"
    for column in sorted(expected & set(table)):
        if table[column] is not None and len(table[column]) != table["length"]:
            yield f"{name}.{column} has {len(table[column])} rows, not {table['length']}"


def _shape_faults(profile: Profile) -> Iterator[str]:
    for field in ("meta", "libs", "shared", "threads"):
        if field not in profile:
            yield f"the profile lacks {field}"
            return
    meta, shared = profile["meta"], profile["shared"]
    for field, kind in META_FIELDS.items():
        if not isinstance(meta.get(field), kind):
            yield f"meta.{field} is no {kind.__name__}"
    if meta.get("preprocessedProfileVersion") != 66:
        yield "meta.preprocessedProfileVersion is not 66"
    for name, columns in COLUMNS.items():
        yield from _table_faults(name, shared.get(name, {}), columns)
    if not profile["threads"]:
        yield "there is no thread"
    for index, thread in enumerate(profile["threads"]):
        if missing := set(THREAD_FIELDS.split()) - set(thread):
            yield f"threads[{index}] lacks {sorted(missing)}"
            continue
        yield from _table_faults(f"threads[{index}].samples", thread["samples"], SAMPLE_COLUMNS)
        yield from _table_faults(f"threads[{index}].markers", thread["markers"], MARKER_COLUMNS)


def _rows(shared: Profile, table: str) -> int:
    return len(shared[table]) if table == "stringArray" else int(shared[table]["length"])


def _index_faults(profile: Profile) -> Iterator[str]:
    shared = profile["shared"]
    for table, column, target, nowhere in INDEXES:
        count = _rows(shared, target)
        for row, value in enumerate(shared[table][column]):
            if value == nowhere and type(value) is type(nowhere):
                continue
            if type(value) is not int or not 0 <= value < count:
                yield f"{table}.{column}[{row}] = {value!r} is no row of {target}, which has {count}"


def _position_faults(profile: Profile) -> Iterator[str]:
    """Lines and columns are 1-based."""
    shared = profile["shared"]
    for table, columns, nullable in (
        ("frameTable", "line column", True),
        ("funcTable", "lineNumber columnNumber", True),
        ("sourceLocationTable", "line column", False),
        ("sources", "startLine startColumn", False),
    ):
        for column in columns.split():
            for row, value in enumerate(shared[table][column]):
                if not ((value is None and nullable) or (type(value) is int and value >= 1)):
                    yield f"{table}.{column}[{row}] = {value!r} is no 1-based position"


def _stack_faults(profile: Profile) -> Iterator[str]:
    stacks = profile["shared"]["stackTable"]
    for row, offset in enumerate(stacks["prefixOffset"]):
        if type(offset) is not int or not 0 <= offset <= row:
            yield f"stackTable.prefixOffset[{row}] = {offset!r} leads out of the table"
    prefixes = [row - offset if offset else -1 for row, offset in enumerate(stacks["prefixOffset"])]
    funcs = [profile["shared"]["frameTable"]["func"][frame] for frame in stacks["frame"]]
    for path, count in Counter(zip(funcs, prefixes, strict=True)).items():
        if count > 1:
            yield f"stackTable holds {path!r} {count} times"


def _identity_faults(profile: Profile) -> Iterator[str]:
    shared = profile["shared"]
    strings = shared["stringArray"]
    for text, count in Counter(strings).items():
        if count > 1:
            yield f"stringArray holds {text!r} {count} times"
    for text in strings:
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            yield f"stringArray holds {text!r}, a lone surrogate"
    for table, columns in IDENTITIES.items():
        rows = Counter(zip(*(shared[table][column] for column in columns.split()), strict=True))
        for row, count in rows.items():
            if count > 1:
                yield f"{table} holds {row!r} {count} times"


def _category_faults(profile: Profile) -> Iterator[str]:
    categories = profile["meta"]["categories"]
    if not any(category["color"] == "grey" for category in categories):
        yield "no category is grey"
    elif next(category["name"] for category in categories if category["color"] == "grey") != "Other":
        yield "the first grey category is not Other"
    for category in categories:
        if category["color"] not in PALETTE.split():
            yield f"the colour of {category['name']} is none of the palette"
        if category["subcategories"][:1] != ["Other"]:
            yield f"the first subcategory of {category['name']} is not Other"
    frames = profile["shared"]["frameTable"]
    category_of: dict[int, tuple[int, int]] = {}
    for row in range(frames["length"]):
        category, subcategory = frames["category"][row], frames["subcategory"][row]
        if not (0 <= category < len(categories) and 0 <= subcategory < len(categories[category]["subcategories"])):
            yield f"frameTable.category[{row}] = {category}/{subcategory} is no category"
        # In a difference, the path decides.
        is_path = (
            categories[category]["name"] in ("Slower", "Faster", "Within noise")
            if category < len(categories)
            else False
        )
        if not is_path and category_of.setdefault(frames["func"][row], (category, subcategory)) != (
            category,
            subcategory,
        ):
            yield f"the frames of func {frames['func'][row]} disagree on their category"


def _thread_faults(profile: Profile) -> Iterator[str]:
    threads = profile["threads"]
    if len({thread["tid"] for thread in threads}) != len(threads):
        yield "a tid occurs twice"
    if not profile["meta"].get("initialVisibleThreads") or not profile["meta"].get("initialSelectedThreads"):
        yield "no thread is visible and selected"
    for index, thread in enumerate(threads):
        if type(thread["pid"]) is not str:
            yield f"threads[{index}].pid is no text"
        for fault in (*_sample_faults(profile, thread["samples"]), *clock_faults(profile, thread["samples"])):
            yield f"threads[{index}].samples: {fault}"
        for fault in marker_faults(profile, thread["markers"]):
            yield f"threads[{index}].markers: {fault}"
    for pid, count in Counter(thread["pid"] for thread in threads if thread["isMainThread"]).items():
        if count > 1:
            yield f"the process {pid} has {count} main threads"
    if homeless := {thread["pid"] for thread in threads} - {t["pid"] for t in threads if t["isMainThread"]}:
        yield f"the processes {sorted(homeless)} have no main thread"
    for field in ("initialVisibleThreads", "initialSelectedThreads"):
        if any(not 0 <= thread < len(threads) for thread in profile["meta"].get(field, ())):
            yield f"meta.{field} names no thread"


def _sample_faults(profile: Profile, samples: Profile) -> Iterator[str]:
    stack_count = profile["shared"]["stackTable"]["length"]
    stacks = samples["stack"]
    for row, stack in enumerate(stacks):
        if stack is not None and not (type(stack) is int and 0 <= stack < stack_count):
            yield f"stack[{row}] = {stack!r} is no row of stackTable"
    if any(delta < 0 for delta in samples["timeDeltas"]):
        yield "time runs backwards"
    if samples["weightType"] not in ("samples", "tracing-ms", "bytes"):
        yield f"weightType {samples['weightType']!r} is unknown"
    if stacks and stacks[-1] is not None:
        yield "no sample without a stack closes the last one"
    end = profile["meta"].get("profilingEndTime")
    if end is not None and not sum(samples["timeDeltas"]) <= end * (1 + 1e-9):
        yield "the last sample lies beyond the end of the profile"
    # In a sum, all samples of a call path are adjacent and narrow; what is on a real clock says so by its CPU use.
    if "threadCPUDelta" not in samples:
        seen = [stack for stack, _ in groupby(stacks) if stack is not None]
        if len(set(seen)) != len(seen):
            yield "the samples of a call path are apart"
        widths = [abs(weight) for weight in samples["weight"][:-1]]
        if widths and max(widths) > sum(widths) / 1000 + WIDE_MS:
            yield "a sample is wider than a thousandth of the axis"


def read_runs(profile: Profile, thread: int = 0) -> list[tuple[int | None, int]]:
    """Returns the stack of each call path of a sum's track and its weight in whole µs, in order of the samples."""
    samples = profile["threads"][thread]["samples"]
    pieces = zip(samples["stack"], samples["weight"], strict=True)
    return [
        (stack, sum(round(weight * 1000) for _, weight in rows)) for stack, rows in groupby(pieces, lambda row: row[0])
    ]


def read_tree(profile: Profile, thread: int = 0) -> tuple[CallTree, list[str]]:
    """Returns the call tree of a thread from its samples, in µs, and the name of each func row."""
    shared, samples = profile["shared"], profile["threads"][thread]["samples"]
    stacks, frames = shared["stackTable"], shared["frameTable"]
    prefix = [row - offset if offset else -1 for row, offset in enumerate(stacks["prefixOffset"])]
    func = [frames["func"][frame] for frame in stacks["frame"]]
    self_us = [0] * len(func)
    for stack, weight in zip(samples["stack"], samples["weight"], strict=True):
        if stack is not None:
            self_us[stack] += round(weight * 1000)
    names = [shared["stringArray"][name] for name in shared["funcTable"]["name"]]
    return CallTree(prefix, func, self_us, [0] * len(func), [0] * len(func)), names
