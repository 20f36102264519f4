"""The compiled kernel is used only if it is installed and can be loaded."""

from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from profcore import kernel
from profcore.kernel import KernelChoice, KernelError, find_kernel


@pytest.fixture(autouse=True)
def _load_again() -> Iterator[None]:
    """Forgets which kernel this process has loaded, before the test and after it."""
    kernel._load_kernel.cache_clear()
    yield
    kernel._load_kernel.cache_clear()


def replace_import(monkeypatch: pytest.MonkeyPatch, load: Callable[[str], ModuleType]) -> None:
    monkeypatch.setattr(kernel, "import_module", load)


def fail(error: ImportError) -> Callable[[str], ModuleType]:
    def load(_: str) -> ModuleType:
        raise error

    return load


def test_a_kernel_that_is_installed_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_import(monkeypatch, ModuleType)
    loaded = find_kernel("compiled")
    assert loaded.module is not None
    assert (loaded.module.__name__, loaded.name, loaded.why_pure) == ("fieldflame_kernel", "compiled", "")


def test_the_pure_twin_is_used_where_it_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_import(monkeypatch, ModuleType)
    assert find_kernel("pure").module is None


def test_the_pure_twin_is_used_where_no_kernel_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_import(monkeypatch, fail(ModuleNotFoundError("No module named 'fieldflame_kernel'")))
    loaded = find_kernel("auto")
    assert (loaded.module, loaded.name, loaded.why_pure) == (None, "pure", "the compiled kernel is not installed")


def test_a_library_that_cannot_be_loaded_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_import(monkeypatch, fail(ImportError("GLIBC_2.99 not found")))
    assert find_kernel("auto").why_pure == "the compiled kernel cannot be loaded: GLIBC_2.99 not found"


def test_a_kernel_that_was_chosen_and_is_absent_is_an_error_that_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    replace_import(monkeypatch, fail(ModuleNotFoundError()))
    expected = r"^FIELDFLAME_KERNEL is compiled, but the compiled kernel is not installed\.$"
    with pytest.raises(KernelError, match=expected):
        find_kernel("compiled")


def test_the_choices_are_those_of_the_setting() -> None:
    assert [choice.value for choice in KernelChoice] == ["auto", "compiled", "pure"]
