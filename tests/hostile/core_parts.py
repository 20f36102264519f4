"""Hostile envelopes, files to be imported and source maps, and their checks in the pure core."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
from hypothesis import strategies as st

from profcore.errors import TraceError
from profcore.formats.importers.completing import Defaults
from profcore.formats.importers.registry import read_file
from profcore.formats.importers.shapes import FileError, ImportLimits
from profcore.sums.fold import CellFold, fold_trace
from profcore.symbolicate.labels import label_positions
from profcore.symbolicate.maps import MapError, read_map
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Limits, decode_envelope
from tests.envelopes import make_envelope as make_wire_envelope
from tests.hostile.cases import BodyCase, MapCase
from tests.hostile.edits import EDITS, HOSTILE, Edit, edit_json, pick
from tests.hostile.measuring import measure
from tests.hostile.shapes import SHAPES, make_envelope
from tests.source_map_writer import write_mappings

LIMITS: Final = Limits(samples=2_000, stacks=2_000, frames=500, resources=50, depth=300, name_chars=300, marks=500)
IMPORT_LIMITS: Final = ImportLimits(
    file_bytes=2**20,
    input_bytes=2**20,
    expanded_bytes=2**21,
    nesting=3,
    members=50,
    traces=50,
    samples=10_000,
    values=40_000,
    envelope=replace(LIMITS, values=40_000),
)
DEFAULTS: Final = Defaults("1", "/", 1.8e12)
IMPORTS: Final = Path(__file__).parents[1] / "data" / "imports"
SAMPLES: Final = [path.read_bytes() for path in sorted(IMPORTS.iterdir())]
# At, and on both sides of, the limits above; and small ones, which a failure shrinks to.
SIZES: Final = pick([1, 2, 5, 20, 100, 299, 300, 301, 499, 500, 501, 1_999, 2_000, 2_001])
WORDS: Final = (
    "f",
    "",
    "(anonymous)",
    "\0",
    chr(0xD800),  # half of a pair
    "🎈",
    "a.b.c",
    "<script>",
    "x" * 300,
    "x" * 301,
    "get x",
    "\u202e",
)
URIS: Final = (
    *("https://a.example/x.js", "", "data:text/javascript,1", "blob:https://a.example/1", "https://[", "//", "\0"),
    *(
        "webpack://./a/../b.js?c",
        "https://a.example/" + "a/" * 200,
        "chrome-extension://a/b.js",
        chr(0xDC00),
        "x" * 400,
    ),
    *("https://" + "a." * 120 + "example/x.js", "https://xn--a/x.js", "https://1.2.3.4:99999/x.js", "wasm://wasm/1"),
)


def make_random_envelope(samples: int, depth: int, seed: int) -> dict[str, Any]:
    """Returns an envelope with tables of random entries, nearly all of them valid."""
    chance = random.Random(seed)
    frame_count = chance.choice([1, 3, min(depth, 500)])
    frames = [
        {"name": chance.choice(WORDS), "resourceId": chance.randrange(3), "line": n % 7, "column": n % 11}
        for n in range(frame_count)
    ]
    stacks: list[dict[str, int]] = []
    for n in range(depth):
        parent = {} if not n or chance.random() < 0.05 else {"parentId": max(0, n - chance.choice([1, 1, 1, 2, 9]))}
        stacks.append({"frameId": chance.randrange(frame_count), **parent})
    step = chance.choice([0.0, 0.1, 10.0, -3.0, 1e6])
    rows: list[dict[str, Any]] = []
    for n in range(samples):
        row: dict[str, Any] = {"timestamp": n * step + chance.choice([0, 0, 0, 0.5, -40])}
        if chance.random() < 0.7:
            row["stackId"] = chance.randrange(depth)
        if chance.random() < 0.1:
            row["marker"] = chance.choice(["gc", "script", "paint", "x" * 100, "\0"])
        rows.append(row)
    trace = {"resources": [chance.choice(URIS) for _ in range(3)], "frames": frames, "stacks": stacks, "samples": rows}
    marks = [
        {"type": "longtask", "start": n * 37.0, "duration": chance.choice([0, 60, 1e5])} for n in range(samples % 97)
    ]
    return make_wire_envelope(
        str(seed),
        trace=trace,
        marks=marks,
        tags={"a": "b"},
        device={"memory": 8},
        navigation="route",
        cost={"ms": 1.5},
        url=chance.choice(URIS),
    )


def write_envelope(shape: int, samples: int, depth: int, seed: int, edits: Sequence[Edit]) -> BodyCase:
    """Returns an envelope of a shape, or with random tables, after some edits."""
    if shape < len(SHAPES):
        body = msgspec.json.encode(make_envelope(SHAPES[shape], samples, max(2, depth)))
    else:
        body = json.dumps(make_random_envelope(samples, depth, seed)).encode()
    return BodyCase(edit_json(body, edits))


ENVELOPES: Final = st.builds(
    write_envelope,
    st.integers(0, 2 * len(SHAPES)).map(lambda n: 2 * len(SHAPES) - n),
    SIZES,
    SIZES,
    st.integers(0, 99),
    st.just([]) | EDITS,
)
SMALL: Final = pick([1, 2, 5, 20, 100])
POSTS: Final = st.builds(
    lambda samples, depth, seed, edits, read: msgspec.structs.replace(
        write_envelope(99, samples, depth, seed, edits), read=read
    ),
    SMALL,
    SMALL,
    st.integers(0, 99),
    st.just([]) | EDITS,
    st.integers(0, 99),
)


# Steps and bytes for each byte of an input, well above the most that 20,000 inputs of each part took: 12 and 5 for
# envelopes, 4 and 3 for files, 40 and 2 for maps. What takes squared steps takes hundreds at these lengths.
ENVELOPE_STEPS: Final = 30  # walks between stacks may take eight steps for each stack before they are indexed
ENVELOPE_BYTES: Final = 20
IMPORT_STEPS: Final = 15
IMPORT_BYTES: Final = 30
MAP_STEPS: Final = 80
MAP_BYTES: Final = 50


def check_envelope_cost(case: BodyCase) -> None:
    """Decodes and folds; the body is refused with a `TraceError`, or costs in proportion to its bytes."""

    def take() -> None:
        try:
            envelope = decode_envelope(case.body, LIMITS)
        except TraceError:
            return
        folded = fold_trace(envelope, page="/", funcs=FuncTable())
        parts = folded.parts
        known = parts.js_us + parts.hidden_us + parts.idle_us + parts.unobserved_us + parts.profiler_us
        assert known == parts.span_us, "the parts do not sum up to the span"
        cell = CellFold("cell")
        cell.add(envelope.viewId, folded, is_truncated=False)

    cost = measure(take)
    cost.check(
        len(case.body), steps_per_byte=ENVELOPE_STEPS, bytes_per_byte=ENVELOPE_BYTES, steps=5_000, peak_bytes=2**18
    )


def write_file(sample: int, edits: Sequence[Edit], cut: int) -> BodyCase:
    """Returns a sample file after some edits; of one that is no JSON, each line may be edited."""
    body = SAMPLES[sample % len(SAMPLES)]
    try:
        body = edit_json(body, edits)
    except (ValueError, RecursionError):
        lines = body.splitlines()
        for edit in edits:
            at = edit.way[0] % len(lines)
            try:
                lines[at] = edit_json(lines[at], [edit._replace(way=[*edit.way[1:], 0])])
            except (ValueError, RecursionError):
                lines[at] = HOSTILE[edit.value % len(HOSTILE)]
        body = b"\n".join(lines)
    return BodyCase(body[: len(body) - cut] if cut < len(body) else body)


FILES: Final = st.builds(write_file, st.integers(0, len(SAMPLES) - 1), EDITS, pick([0, 0, 0, 0, 1, 2, 100]))


def check_import_cost(case: BodyCase) -> None:
    """Reads a file as an import does; it is refused with a `FileError`, or costs in proportion to its bytes.

    A few bytes may say that a profile lasts for a month, which becomes as many samples as the limits admit.
    """
    made = 0

    def take() -> None:
        nonlocal made
        try:
            for imported in read_file("file", case.body, DEFAULTS, IMPORT_LIMITS):
                made += len(imported.completed.body)
                fold_trace(imported.completed.envelope, page="/", funcs=FuncTable())
        except FileError:
            return

    cost = measure(take)
    size = len(case.body) + made
    cost.check(size, steps_per_byte=IMPORT_STEPS, bytes_per_byte=IMPORT_BYTES, steps=5_000, peak_bytes=2**20)


PIECES: Final = (
    *(
        "function a(b){return c}",
        "class A{get x(){return 1} #p=()=>2; static{}}",
        "const f=async(a,{b})=>{",
        "}",
        "a.b=function(){",
    ),
    *(
        "x=>y=>z",
        "`${()=>1}`",
        "({m(){},'k':function*(){},[c]:()=>0})",
        "/* */",
        "// a\n",
        "\n",
        "import a from 'b';",
        "<A b={()=>1}/>",
    ),
    *(
        "(",
        "[",
        "{",
        "...",
        "🎈é",
        "\r\u2028",
        "\\",
        "'",
        "/[/]/g",
        "=>",
        ";;",
        "export default function(){}",
        "new class{}",
        "\0",
    ),
)
TEXTS: Final = st.tuples(st.lists(pick(PIECES), max_size=12), pick([1, 1, 2, 10, 40])).map(
    lambda drawn: " ".join(drawn[0]) * drawn[1]
)
NUMBERS: Final = pick([0, 1, 2, 7, 8, 9, 20, 40, 500, 2**31 - 2, 2**31 - 1])
SEGMENTS: Final = st.lists(
    st.tuples(st.integers(0, 3), NUMBERS, st.integers(0, 2), st.integers(0, 3), NUMBERS, st.integers(0, 3)).map(
        lambda numbers: numbers[: 2 if numbers[5] == 2 else 5 if numbers[5] else 6]
    ),
    max_size=20,
).map(sorted)
FOREIGN: Final = st.text("ACgzB/+9,;é \0", max_size=40)


def write_map(
    segments: list[tuple[int, ...]],
    times: int,
    foreign: str,
    texts: list[str],
    bundle: str,
    edits: Sequence[Edit],
    sections: int,
) -> MapCase:
    """Returns a map, maybe of sections, after some edits; with a bundle and positions."""
    repeated = [(line + 4 * n, *rest) for n in range(times) for line, *rest in segments]
    one: dict[str, Any] = {
        "version": 3,
        "sources": ["a.js", "../b.ts", "webpack://x/./c.tsx?1"],
        "sourcesContent": texts,
        "names": ["n", "m", ""],
        "mappings": write_mappings(repeated) + foreign,
    }
    if sections:
        one = {
            "version": 3,
            "sections": [{"offset": {"line": n * 3, "column": n % 2}, "map": one} for n in range(sections)],
        }
    positions = [(segment[0] + 1, segment[1] + more) for segment in segments for more in (0, 1, 2)]
    positions += [(line, column) for line in (-1, 0, 1, 2, 9) for column in (-1, 0, 1, 12, 2**31)]
    return MapCase(edit_json(json.dumps(one).encode(), edits), bundle.encode("utf-8", "surrogatepass"), positions)


MAPS: Final = st.builds(
    write_map,
    SEGMENTS,
    pick([1, 1, 2, 100, 1_000]),
    st.just("") | st.just("") | FOREIGN,
    st.lists(TEXTS, max_size=3),
    TEXTS,
    EDITS,
    pick([0, 0, 0, 1, 2, 30]),
)


def check_map_cost(case: MapCase) -> None:
    """Reads a map and labels positions; it is refused with a `MapError`, or costs in proportion to its bytes."""

    def take() -> None:
        try:
            source_map = read_map(case.map)
        except MapError:
            return
        labels = label_positions(source_map, case.positions, file="assets/main.js", bundle=case.bundle)
        places = source_map.find(case.positions)
        assert [label is None for label in labels] == [place is None for place in places], "a label without a place"

    cost = measure(take)
    size = len(case.map) + len(case.bundle)
    cost.check(size, steps_per_byte=MAP_STEPS, bytes_per_byte=MAP_BYTES, steps=60_000, peak_bytes=2**22)
