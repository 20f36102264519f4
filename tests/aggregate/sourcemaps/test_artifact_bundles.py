"""Damaged artifact bundles are refused with a sentence, whatever is damaged, and within the bounds of any archive."""

import io
import json
import zipfile

from hypothesis import example, given
from hypothesis import strategies as st

from aggregate.sourcemaps.archives import ArchiveError
from aggregate.sourcemaps.artifact_bundles import open_bundle
from tests.properties import bounded

FILES = {
    "a": ("~/main.js", b"run();" * 50),
    "b": ("~/main.js.map", b'{"version":3}'),
    "c": ("https://x.example/c.js", b""),
}


def write_bundle(method: int, comment: bytes) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", method) as archive:
        archive.comment = comment
        about = {
            name: {"url": url, "type": "source_map" if url.endswith(".map") else "minified_source"}
            for name, (url, _) in FILES.items()
        }
        archive.writestr("manifest.json", json.dumps({"files": about}))
        for name, (_, content) in FILES.items():
            archive.writestr(name, content)
    return raw.getvalue()


WHOLE = [
    write_bundle(method, comment)
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    for comment in (b"", b"x" * 99)
]


def read_all(content: bytes) -> dict[str, list[tuple[str, bytes]]] | None:
    """Returns all files of a bundle, None if it is refused."""
    try:
        with open_bundle(io.BytesIO(content)) as files:
            return {prefix: [(file.path, file.read()) for file in below] for prefix, below in files.items()}
    except ArchiveError:
        return None


def test_a_bundle_is_read_whatever_its_writer_chose() -> None:
    for content in WHOLE:
        assert read_all(b"SYSB\2\0\0\0" + content) == {
            "~/": [("main.js", FILES["a"][1]), ("main.js.map", FILES["b"][1])],
            "https://x.example/": [("c.js", b"")],
        }


@bounded(400)
@given(
    st.sampled_from(WHOLE),
    st.lists(st.tuples(st.integers(0, 999), st.binary(max_size=6)), min_size=1, max_size=4),
    st.integers(0, 1_000),
)
@example(WHOLE[0], [(0, b"")], 999)
@example(WHOLE[0], [(999, b"\xff\xff\xff\xff")], 1_000)
def test_damaged_ones_are_read_or_refused(content: bytes, damages: list[tuple[int, bytes]], end: int) -> None:
    for place, damage in damages:
        at = place * len(content) // 1_000
        content = content[:at] + damage + content[at + len(damage) :]
    read_all(content[: end * len(content) // 1_000])
