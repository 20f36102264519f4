"""The compiled kernel is used only if it is there, can be loaded, and was built from the sources that are there."""

import shutil
from pathlib import Path

import pytest

from profcore.kernel import BUILT_NAME, SOURCE_FOLDER, KernelChoice, KernelError, find_kernel, read_sources


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a copy of the kernel's sources, without a built kernel."""
    copy = tmp_path / "kernel"
    shutil.copytree(SOURCE_FOLDER, copy, ignore=shutil.ignore_patterns("built", "target"))
    (copy / BUILT_NAME).parent.mkdir()
    return copy


@pytest.fixture
def built(folder: Path) -> Path:
    """Returns a copy with the kernel that is built here; skips the test if there is none."""
    if find_kernel().module is None:
        pytest.skip(find_kernel().why_pure)
    shutil.copy(SOURCE_FOLDER / BUILT_NAME, folder / BUILT_NAME)
    return folder


def test_a_kernel_of_the_same_sources_is_used(built: Path) -> None:
    found = find_kernel("compiled", built)
    assert found.module is not None
    assert (found.name, found.why_pure) == ("compiled", "")


def test_the_pure_twin_is_used_where_no_kernel_is_built(folder: Path) -> None:
    found = find_kernel("auto", folder)
    assert (found.module, found.name) == (None, "pure")
    assert found.why_pure == "the compiled kernel is not built here"


def test_the_pure_twin_is_used_where_it_is_chosen(built: Path) -> None:
    assert find_kernel("pure", built).module is None


@pytest.mark.parametrize("change", ["edited", "added", "removed"])
def test_a_kernel_of_other_sources_is_not_used(built: Path, change: str) -> None:
    source = built / "src" / "lib.rs"
    if change == "edited":
        source.write_bytes(source.read_bytes() + b"\n")
    elif change == "added":
        (built / "src" / "more.rs").touch()
    else:
        source.unlink()
    assert "other sources" in find_kernel("auto", built).why_pure


def test_a_file_that_is_no_library_is_not_used(folder: Path) -> None:
    (folder / BUILT_NAME).write_bytes(b"not a library")
    assert "cannot be loaded" in find_kernel("auto", folder).why_pure


def test_a_kernel_that_was_chosen_and_is_absent_is_an_error_that_says_why(folder: Path) -> None:
    with pytest.raises(
        KernelError, match=r"^FIELDFLAME_KERNEL is compiled, but the compiled kernel is not built here\.$"
    ):
        find_kernel("compiled", folder)


def test_the_sources_are_all_files_that_a_build_reads() -> None:
    names = set(read_sources(SOURCE_FOLDER))
    assert {"Cargo.toml", "crates.lock", "build.rs", "src/lib.rs"} <= names
    tracked = {"Cargo.toml", "crates.lock", "build.rs"} | {
        path.relative_to(SOURCE_FOLDER).as_posix() for path in (SOURCE_FOLDER / "src").rglob("*") if path.is_file()
    }
    assert names == tracked


def test_the_choices_are_those_of_the_setting() -> None:
    assert [choice.value for choice in KernelChoice] == ["auto", "compiled", "pure"]
