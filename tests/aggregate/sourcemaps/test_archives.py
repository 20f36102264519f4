"""Archives: what is in them, and hostile ones, each refused with a sentence. Nothing is written anywhere."""

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from pytest_django import Settings

from aggregate.sourcemaps import archives
from aggregate.sourcemaps.archives import ArchiveError, list_folder, open_archive


def make_tar(*members: tuple[str, bytes], kind: bytes = tarfile.REGTYPE, packed: bool = True) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            member.type = kind
            member.linkname = "/etc/passwd"
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(raw.getvalue()) if packed else raw.getvalue()


def read(body: bytes) -> dict[str, bytes]:
    with open_archive(io.BytesIO(body)) as files:
        return {file.path: file.read() for file in files}


@pytest.mark.parametrize("packed", [True, False])
def test_files_are_read_by_their_paths(packed: bool) -> None:
    body = make_tar(("./a/b.js", b"1"), ("./a/b.js.map", b"2"), ("c.mjs", b"3"), ("d.css", b"4"), packed=packed)
    assert read(body) == {"a/b.js": b"1", "a/b.js.map": b"2", "c.mjs": b"3", "d.css": b"4"}


LITTER = [
    *("._a.js", "._a.js.map", "js/._a.js", "._js/a.js", "__MACOSX/a.js", "__MACOSX/js/._a.js.map", "js/__macosx/a.js"),
    *(".AppleDouble/a.js", "PaxHeaders/a.js", "PaxHeaders.4711/a.js", "js/PaxHeaders.1/a.js.map", "@eaDir/a.js"),
]
OURS = ["MACOSX/a.js", "PaxHeadersOf/a.js", "a.js", "js/_a.js", "js/a.js.map"]
APPLE_DOUBLE = bytes.fromhex("0005160700020000") + b"Mac OS X        "


def test_what_file_managers_and_archivers_add_is_skipped_in_tars_and_folders(tmp_path: Path) -> None:
    for name in [*LITTER, *OURS]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(APPLE_DOUBLE)
    assert [file.path for file in list_folder(tmp_path)] == OURS
    for before in ("", "./", "../", "/"):
        litter = [(before + name, APPLE_DOUBLE) for name in LITTER]
        assert list(read(make_tar(*litter, *((name, b"") for name in OURS)))) == OURS


@pytest.mark.parametrize("name", ["../a.js", "/a.js", "x/../../a.js", "C:/a.js", "../readme.md"])
def test_a_path_that_leads_out_is_refused(name: str) -> None:
    with pytest.raises(ArchiveError, match="leads out"):
        read(make_tar((name, b"")))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_passed_over(kind: bytes) -> None:
    assert read(make_tar(("a.js", b""), kind=kind)) == {}


@pytest.mark.parametrize(
    "body",
    [b"", b"nonsense", b"\x1f\x8bnonsense", gzip.compress(b"nonsense"), make_tar(("a.js", b"x" * 9_000))[:60]],
)
def test_what_is_no_archive_is_refused(body: bytes) -> None:
    with pytest.raises(ArchiveError, match="not a readable tar archive"):
        read(body)


def test_too_many_files_are_refused(settings: Settings) -> None:
    settings.SOURCE_MAP_MAX_FILES = 2
    with pytest.raises(ArchiveError, match="more than 2 files"):
        read(make_tar(("a.txt", b""), ("b.txt", b""), ("c.txt", b"")))


def test_too_many_bytes_are_refused_before_they_are_expanded(settings: Settings) -> None:
    settings.SOURCE_MAP_MAX_EXPANDED_BYTES = 10_000
    with pytest.raises(ArchiveError, match="more than 10000 bytes"):
        read(make_tar(("a.js", b"x" * 6_000), ("b.js", b"x" * 6_000)))


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_header_that_names_a_huge_size_is_not_read(settings: Settings, kind: bytes) -> None:
    settings.SOURCE_MAP_MAX_FILE_BYTES = 5_000
    with pytest.raises(ArchiveError, match="more than 5000 bytes"):
        read(make_tar(("x", b"9" * 50_000), ("a.js", b""), kind=kind))


def test_a_folder_of_links_is_listed(tmp_path: Path) -> None:
    store, build = tmp_path / "store", tmp_path / "build"
    (store / "chunks").mkdir(parents=True)
    build.mkdir()
    for name in ("main.js", "main.js.map", "chunks/a.mjs"):
        (store / name).write_text(name)
    (build / "main.js").symlink_to(store / "main.js")
    (build / "main.js.map").symlink_to("../store/main.js.map")
    for name in ("v1", "latest"):  # pages may load either
        (build / name).symlink_to(store / "chunks")
    (build / "gone.js").symlink_to(store / "gone.js")
    linked = tmp_path / "bazel-bin"
    linked.symlink_to(build)
    expected = {"main.js": b"main.js", "main.js.map": b"main.js.map"}
    expected |= dict.fromkeys(("v1/a.mjs", "latest/a.mjs"), b"chunks/a.mjs")
    for folder in (build, linked):
        assert {file.path: file.read() for file in list_folder(folder)} == expected


def test_links_that_lead_in_circles_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "x.js").write_text("1")
    (tmp_path / "a" / "b" / "up").symlink_to(tmp_path / "a")
    (tmp_path / "a" / "b" / "root").symlink_to("/")
    assert [file.path for file in list_folder(tmp_path)] == ["a/x.js"]
    folders = [tmp_path / f"f{number}" for number in range(12)]
    for folder in folders:
        folder.mkdir()
    for folder in folders:  # each path through them is another one: 12! in all
        for other in folders:
            (folder / other.name).symlink_to(other)
    monkeypatch.setattr(archives, "MAX_FOLDERS", 500)
    with pytest.raises(ArchiveError, match="more than 500 folders"):
        list_folder(tmp_path)


def test_a_link_to_a_file_of_another_kind_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.js").write_text("1")
    (tmp_path / "a" / "b.js.map").write_text("2")
    (tmp_path / "link.js").symlink_to("/etc/passwd")
    assert {file.path: file.read() for file in list_folder(tmp_path)} == {"a/b.js": b"1", "a/b.js.map": b"2"}
