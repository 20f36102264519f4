"""A build whose sources, names, paths and maps have their worst forms, as the tar that CI posts."""

import gzip
import io
import json
import tarfile
from collections.abc import Sequence
from typing import Any, Final

from tests.hostile.project.texts import BIDI, HALF, MARKUP, OPENINGS, SHOP, fill
from tests.source_map_writer import write_mappings

PREFIX: Final = f"{SHOP}assets/"
STEP: Final = 20  # columns of a bundle between two functions
STUB: Final = "function a(){}".ljust(STEP)
KIB: Final = 1_024
PARSED_SLOWLY: Final = ("a<b,", "/[")  # labelling takes the square of these: its process has two minutes and 3 GB
Texts = Sequence[tuple[str, str | None]]  # the sources of a map by their paths

# Labelling reads sources in a process of its own; pages find their lines, and colour them by the lexer of the path.
SOURCES: Final[Texts] = (
    *(
        (f"src/{at}{ending}", fill(opening, (2 if opening in PARSED_SLOWLY else 64) * KIB))
        for at, opening in enumerate(OPENINGS)
        for ending in (".vue", ".html", ".js")
    ),
    ("src/generic.ts", fill("a<b,", 4 * KIB)),
    ("src/pattern.js", fill("/[", 8 * KIB)),
    ("webpack://x/src/generic.ts\\", fill("a<b,", 4 * KIB)),
    ("src/separators.js", fill("\r\u2028\r\n", KIB * KIB)),
    ("src/line.ts", fill("const a = {b: (c) => c + 1, d: `${e}`};", 1_000_000)),
    ("src/nested.js", "(" * 20_000 + ")" * 20_000),
    ("src/arrows.js", fill("x=>", 20_000) + "x"),
    ("src/functions.js", fill("function a(){", 20_000)),
    ("src/markup.js", fill(f"/* {MARKUP} */ function f(){{ return `{MARKUP}` }}\n", 64 * KIB)),
    ("src/bidi.js", fill(f"var a{BIDI} = '{BIDI}';", 8 * KIB)),
    ("src/half.js", fill(f"{HALF} ", 8 * KIB)),
    ("src/nul.js", fill("\0", 8 * KIB)),
    (fill("../", 3_000) + "etc/passwd", MARKUP),
    (fill(MARKUP, 20_000) + ".tsx", MARKUP),
    (f"webpack://{MARKUP}/{BIDI}.svelte", fill(f"<script lang='{MARKUP}'>", 64 * KIB)),
    ("javascript:alert(1)", MARKUP),
    ("", MARKUP),
    ("src/none.js", None),
)
LINES: Final[Texts] = (("src/lines.js", "\n" * (4 * KIB * KIB - 1)),)  # as long as a page searches
MORE_LINES: Final[Texts] = (("src/more-lines.js", "\n" * (5 * KIB * KIB)),)


def write_map(texts: Texts, /, **fields: Any) -> bytes:  # Any: JSON
    """Returns a map in which three functions of the bundle come from each source: of its start, middle and end."""
    segments = []
    for index, (_, text) in enumerate(texts):
        last = 0 if text is None else text.count("\n")
        segments += [(0, STEP * (3 * index + n), index, line, 0, 0) for n, line in enumerate((0, last // 2, last))]
    wire = {
        "version": 3,
        "file": MARKUP,
        "sources": [path for path, _ in texts],
        "sourcesContent": [text for _, text in texts],
        "names": [fill(MARKUP, 20_000)],
        "mappings": write_mappings(segments),
    }
    return json.dumps(wire | fields).encode()


def nest_sections(depth: int) -> bytes:
    """Returns a map of sections within sections."""
    inner = b'{"version":3,"sources":[],"names":[],"mappings":""}'
    for _ in range(depth):
        inner = b'{"version":3,"sections":[{"offset":{"line":0,"column":0},"map":' + inner + b"}]}"
    return inner


ONE: Final[Texts] = (("src/one.js", "x"),)
MAPS: Final[Sequence[bytes]] = (
    write_map(SOURCES),
    write_map(LINES),
    write_map(MORE_LINES),
    write_map(ONE, mappings=""),
    write_map(ONE, mappings="," * 100_000 + ";" * 100_000),
    write_map(ONE, names=["n" * 100] * 100_000),
    write_map(ONE, sources=["s"] * 100_000, sourcesContent=None),
    write_map(ONE, mappings="g" * 100_000),
    write_map(ONE, mappings=write_mappings([(0, 20, 0, 2**31 - 1, 2**31 - 1)])),
    write_map(ONE, sourceRoot=fill(MARKUP, 100_000)),
    write_map(((MARKUP, MARKUP),), version=MARKUP, names={MARKUP: MARKUP}, ignoreList=[MARKUP], debugId=MARKUP),
    nest_sections(1),
    nest_sections(10_000),
    b'{"version":3,"sections":' + b"[" * 10_000,
    b"\xef\xbb\xbf" + write_map(ONE),
    b"",
)
STUBS: Final = 3 * len(SOURCES)


def list_urls() -> list[str]:
    """Returns the addresses of the scripts that have a map, in the order of the maps."""
    return [f"{PREFIX}{at}.js" for at in range(len(MAPS))]


def list_files() -> dict[str, bytes]:
    """Returns the files of the build by path."""
    files: dict[str, bytes] = {}
    for at, source_map in enumerate(MAPS):
        files[f"{at}.js"] = f"{STUB * STUBS}\n//# sourceMappingURL={at}.js.map\n".encode()
        files[f"{at}.js.map"] = source_map
    files[MARKUP.replace("/", "") + ".js"] = b"a\n//# sourceMappingURL=" + MARKUP.encode()
    files["x" * 90 + "/" + "y" * 90 + ".js"] = b"//# sourceMappingURL=data:application/json;base64,!!!!"
    return files


def write_tar() -> bytes:
    """Returns the build as a packed tar."""
    with io.BytesIO() as file:
        with (
            gzip.GzipFile(fileobj=file, mode="wb", compresslevel=1) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            for name, content in list_files().items():
                member = tarfile.TarInfo(name)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        return file.getvalue()
