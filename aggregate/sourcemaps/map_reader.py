"""Reading one source map in a process of its own: `python -m aggregate.sourcemaps.map_reader`, task on stdin.

If the map crashes it, hangs or eats memory, only this process ends. It imports no framework, so it starts fast.
"""

import gzip
import hashlib
import resource
import sys
import zlib
from typing import Final

import msgspec

from profcore.symbolicate.calls import place_calls
from profcore.symbolicate.labels import LabelledOriginal, label_positions
from profcore.symbolicate.maps import MapError, SourceMap, read_map
from profcore.symbolicate.paths import source_path

GZIP_LEVEL: Final = 6


class MapTask(msgspec.Struct, kw_only=True):
    """The input of the child: map and bundle (gzip), the map's path in its build, positions from 1, the limits.

    `positions` are those of functions, `calls` those within functions.
    """

    map: bytes
    bundle: bytes | None
    file: str
    positions: list[tuple[int, int]]
    calls: list[tuple[int, int]] = []
    memory_bytes: int
    cpu_s: int


class SourceRow(msgspec.Struct, array_like=True, kw_only=True):
    """An original source that positions map to; its content is gzip."""

    digest: bytes
    name: str
    path: str
    content: bytes | None
    size_bytes: int | None


class LabelRow(msgspec.Struct, array_like=True, kw_only=True):
    """A position's original; `source` is a key of `MapResult.sources`."""

    source: int
    line: int
    column: int
    name: str | None
    body_hash: bytes | None
    standing: str | None
    first_line: int | None
    last_line: int | None
    text_digest: bytes | None


class MapResult(msgspec.Struct):
    """The answer of the child: a label or None per position and the sources they name, or why the map is refused."""

    labels: list[LabelRow | None] = []
    sources: dict[int, SourceRow] = {}
    calls: list[tuple[str, int, int, str | None] | None] = []
    refusal: tuple[str, str] | None = None


ZLIB_OUT_OF_MEMORY: Final = "Error -4 "  # zlib's Z_MEM_ERROR, for which Python does not raise MemoryError
task_decoder: Final = msgspec.msgpack.Decoder(MapTask)
result_decoder: Final = msgspec.msgpack.Decoder(MapResult)


def read_alone(task: MapTask) -> MapResult:
    """Returns the labels of positions by one map, or why the map is refused."""
    try:
        source_map = read_map(gzip.decompress(task.map))
    except MapError as error:
        return MapResult(refusal=(error.path, error.detail))
    except (EOFError, OSError, zlib.error) as error:
        if str(error).startswith(ZLIB_OUT_OF_MEMORY):
            raise MemoryError from error
        return MapResult(refusal=("$", f"the stored map cannot be expanded: {error}."))
    bundle = gzip.decompress(task.bundle) if task.bundle is not None and task.positions else None
    labels = label_positions(source_map, task.positions, file=task.file, bundle=bundle)
    used = {label.source for label in labels if label is not None}
    return MapResult(
        labels=[None if label is None else _row_of(label) for label in labels],
        sources={index: _source_row(source_map, index, task.file) for index in sorted(used)},
        calls=place_calls(source_map, task.calls, file=task.file),
    )


def _row_of(label: LabelledOriginal) -> LabelRow:
    return LabelRow(
        source=label.source,
        line=label.line,
        column=label.column,
        name=label.name,
        body_hash=label.body_hash,
        standing=label.standing,
        first_line=None if label.text is None else label.text.first_line,
        last_line=None if label.text is None else label.text.last_line,
        text_digest=None if label.text is None else label.text.digest,
    )


def _source_row(source_map: SourceMap, index: int, file: str) -> SourceRow:
    name = (source_map.sources[index] or "").replace("\0", "\ufffd")
    path = source_path(name, file)
    text = source_map.contents[index]
    content = None if text is None else text.encode("utf-8", "replace")
    hasher = hashlib.sha256()
    for part in (name.encode(), path.encode(), b"" if content is None else b"\1" + content):
        hasher.update(b"%d:" % len(part))
        hasher.update(part)
    packed = None if content is None else gzip.compress(content, GZIP_LEVEL, mtime=0)
    return SourceRow(
        digest=hasher.digest(),
        name=name,
        path=path,
        content=packed,
        size_bytes=None if content is None else len(content),
    )


def main() -> None:
    task = task_decoder.decode(sys.stdin.buffer.read())
    resource.setrlimit(resource.RLIMIT_AS, (task.memory_bytes, task.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (task.cpu_s, task.cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        result = read_alone(task)
    except MemoryError:
        result = MapResult(refusal=("$", f"reading it takes more than {task.memory_bytes} bytes of memory."))
    sys.stdout.buffer.write(msgspec.msgpack.encode(result))


if __name__ == "__main__":
    main()
