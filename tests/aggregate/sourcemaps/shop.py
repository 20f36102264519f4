"""A small shop whose build is written by hand: one bundle of two functions, and its map."""

from collections.abc import Sequence
from functools import partial

from aggregate.fold.interning import intern_funcs
from aggregate.label_models import Label, Source
from aggregate.models import Func
from aggregate.sourcemaps.archives import BuildFile
from aggregate.sourcemaps.uploading import UploadReport, store_build
from profcore.trace.funcs import FuncKey
from tests.source_map_writer import write_map

PREFIX = "https://shop.example/assets"
URI = PREFIX + "/main.js"
BUNDLE = b"function a(r){return r.map(t=>t*2)}\n//# sourceMappingURL=main.js.map\n"
SOURCE = "export function double(rows) {\n  return rows.map((row) => row * 2);\n}\n"
ARROW_AT = 28  # the columns of the functions in the bundle, from 1
DOUBLE_AT = 11
DOUBLE = FuncKey(URI, 1, DOUBLE_AT, "a")
ARROW = FuncKey(URI, 1, ARROW_AT, "")
HEAD = FuncKey(URI, 1, 1, "")  # the script itself: nothing maps it


def write_shop_map(source: str = SOURCE, *, line: int = 0, **fields: object) -> bytes:
    """Writes the bundle's map; `double` is at `line` (from 0) of the source."""
    segments = [
        (0, 9, 0, line, 16, 0),
        (0, DOUBLE_AT - 1, 0, line, 22, 0),
        (0, ARROW_AT - 1, 0, line + 1, 18),
    ]
    return write_map(segments, ["../src/list.js"], **{"sourcesContent": [source], "names": ["double"], **fields})


def files_of(contents: dict[str, bytes]) -> list[BuildFile]:
    """Returns files by their paths."""
    return [BuildFile(path, len(content), partial(bytes, content)) for path, content in contents.items()]


def upload(
    project_id: int, release: str = "1.0.0", *, files: Sequence[BuildFile] | None = None, prefix: str = PREFIX
) -> UploadReport:
    """Uploads the shop's build, or other files."""
    shop_files = files_of({"main.js": BUNDLE, "main.js.map": write_shop_map()})
    return store_build(project_id, release=release, url_prefixes=[prefix], files=shop_files if files is None else files)


def intern(project_id: int, *keys: FuncKey) -> list[int]:
    """Interns funcs as a fold does; the shop's three without any."""
    return list(intern_funcs(project_id, keys or (DOUBLE, ARROW, HEAD)).values())


def picture(project_id: int) -> str:
    """Draws a project's labels: release, the func's column, and where it is."""
    columns = dict(Func.objects.filter(project_id=project_id).values_list("id", "column"))
    paths = {source.id: source.path for source in Source.objects.filter(project_id=project_id)}
    lines = []
    labels = Label.objects.filter(project_id=project_id)
    for label in sorted(labels, key=lambda label: (label.release, columns[label.func_id] or 0)):
        where = "unmapped"
        if label.source_id is not None:
            where = f"{label.name or '(anonymous)'} {paths[label.source_id]}:{label.line}:{label.column}"
        lines.append(f"{label.release} {columns[label.func_id]} {where}")
    return "\n".join(lines)
