"""One hostile input of a part, as values and as a file that can be read, kept and repeated."""

from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgspec

KEPT: Final = Path(__file__).parent / "kept"  # found real bugs; every run of the tests repeats them
FAILURES: Final = Path(__file__).parent / "failures"  # found by `./run fuzz`; not in the repository
PART_NAMES: Final = (
    *("envelopes", "posts", "importers", "maps", "queries", "forms"),
    *("written-maps", "sources", "patterns", "display", "recordings", "archives", "multiparts", "sdks"),
)


class BodyCase(msgspec.Struct, frozen=True):
    """The bytes of an envelope or of a file to be imported; and, for a posted one, which page is read with it."""

    body: bytes
    read: int = 0


class MapCase(msgspec.Struct, frozen=True):
    """A source map, its bundle, and the positions that are asked for."""

    map: bytes
    bundle: bytes
    positions: list[tuple[int, int]]


class RequestCase(msgspec.Struct, frozen=True):
    """A request by somebody of the lab. Texts are bytes: a stranger's need not be UTF-8."""

    method: str
    path: bytes
    query: bytes = b""
    who: str = "member"
    cookies: bytes = b""  # in addition to the session's
    headers: dict[str, bytes] = {}
    body: bytes = b""
    media: str = ""


class Place(msgspec.Struct, frozen=True):
    """An original place: its source, line and column from 1, and a name."""

    source: str | None
    line: int
    column: int
    name: str | None


class WrittenMapCase(msgspec.Struct, frozen=True):
    """A valid source map, positions, and what they mean."""

    map: bytes
    positions: list[tuple[int, int]]
    places: list[Place | None]


class SourceCase(msgspec.Struct, frozen=True):
    """The text of a source, its path, and the functions that begin in it: line and column from 1, and name."""

    path: str
    text: bytes
    functions: list[tuple[int, int, str]]


class PatternCase(msgspec.Struct, frozen=True):
    """A pattern of a kind, a text for it, and whether the text matches, if that is known."""

    kind: str
    pattern: str
    text: str
    fits: bool | None


class DisplayCase(msgspec.Struct, frozen=True):
    """Display rules, functions as the texts of their fields, and call paths: the caller and function of each node."""

    rules: list[dict[str, Any]]  # Any: JSON
    functions: list[dict[str, str | None]]
    prefix: list[int]
    func: list[int]


class RecordingCase(msgspec.Struct, frozen=True):
    """One recording as a file, and in other encodings and containers, which are all the same recording."""

    body: bytes
    others: list[bytes]


class ArchiveCase(msgspec.Struct, frozen=True):
    """An archive of a build, and its files by path; none if it was damaged, or holds what is no file of a build."""

    body: bytes
    files: dict[str, bytes] | None


Written = WrittenMapCase | SourceCase | PatternCase | DisplayCase | RecordingCase | ArchiveCase
Case = BodyCase | MapCase | RequestCase | Written
SHAPES: Final[dict[str, type[msgspec.Struct]]] = {
    "envelopes": BodyCase,
    "posts": BodyCase,
    "importers": BodyCase,
    "maps": MapCase,
    "queries": RequestCase,
    "forms": RequestCase,
    "written-maps": WrittenMapCase,
    "sources": SourceCase,
    "patterns": PatternCase,
    "display": DisplayCase,
    "recordings": RecordingCase,
    "archives": ArchiveCase,
    "multiparts": RequestCase,
    "sdks": RequestCase,
}


class KeptCase(msgspec.Struct):
    """A file: the part, the problem that it showed when it was found, and the input."""

    part: str
    problem: str
    case: msgspec.Raw


def keep_case(folder: Path, part: str, case: Case, problem: str) -> Path:
    """Writes a case into a folder and returns its path. The same input has the same name."""
    folder.mkdir(parents=True, exist_ok=True)
    written = msgspec.json.encode(case)
    path = folder / f"{part}-{blake2b(written, digest_size=6).hexdigest()}.json"
    kept = msgspec.json.encode({"part": part, "problem": problem, "case": msgspec.Raw(written)})
    path.write_bytes(msgspec.json.format(kept, indent=1) + b"\n")
    return path


def read_case(path: Path) -> tuple[str, Any]:  # Any: the case of the part
    """Returns the part and the input of a file."""
    kept = msgspec.json.decode(path.read_bytes(), type=KeptCase)
    return kept.part, msgspec.json.decode(kept.case, type=SHAPES[kept.part])


def list_cases(folder: Path) -> list[Path]:
    """Returns the files of a folder in the order of their names."""
    return sorted(folder.glob("*.json"))
