"""The compiled kernel: an optional module (packages/fieldflame-kernel) that does the work of some functions here.

Each of them has a pure twin, which is the reference: the kernel gives the same values, or leaves the work to the twin.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Final

SOURCE_FOLDER: Final = Path(__file__).parents[1] / "packages" / "fieldflame-kernel"
BUILT_NAME: Final = "built/fieldflame_kernel.abi3.so"  # written by packages/fieldflame-kernel/build
WHY_NAME: Final = "built/why"  # one sentence of the build, if it failed or still runs
MODULE_NAME: Final = "fieldflame_kernel"


class KernelChoice(StrEnum):
    """The values of FIELDFLAME_KERNEL."""

    AUTO = "auto"  # the compiled kernel where it is built
    COMPILED = "compiled"  # an error where it is not
    PURE = "pure"


class KernelError(Exception):
    """The compiled kernel was chosen and cannot be used; the text says why, in one sentence."""


@dataclass(frozen=True, slots=True)
class FoundKernel:
    """The compiled kernel; or none, and why the pure twin is used."""

    module: ModuleType | None
    why_pure: str

    @property
    def name(self) -> str:
        """Returns the name of the twin in use."""
        return "pure" if self.module is None else "compiled"


def find_kernel(choice: str = KernelChoice.AUTO, folder: Path = SOURCE_FOLDER) -> FoundKernel:
    """Returns the kernel in use. A process loads it once, so that it never changes its twin.

    Raises `KernelError` if the choice is "compiled", and the kernel is absent or stale.
    """
    if choice == KernelChoice.PURE:
        return FoundKernel(None, "FIELDFLAME_KERNEL is pure")
    found = _load_kernel(folder)
    if found.module is None and choice == KernelChoice.COMPILED:
        raise KernelError(f"FIELDFLAME_KERNEL is compiled, but {found.why_pure}.")
    return found


@cache
def _load_kernel(folder: Path) -> FoundKernel:
    path = folder / BUILT_NAME
    if not path.is_file():
        return FoundKernel(None, f"the compiled kernel is not built here{_read_why(folder)}")
    try:
        loader = ExtensionFileLoader(MODULE_NAME, str(path))
        spec = spec_from_loader(MODULE_NAME, loader)
        assert spec is not None  # it is None only for a loader without `get_filename`
        module = module_from_spec(spec)
        loader.exec_module(module)
    except (ImportError, OSError) as error:
        return FoundKernel(None, f"the compiled kernel cannot be loaded: {error}")
    if getattr(module, "SOURCES", None) != read_sources(folder):
        return FoundKernel(None, f"the compiled kernel was built from other sources than those here{_read_why(folder)}")
    return FoundKernel(module, "")


def _read_why(folder: Path) -> str:
    """Returns why the last build failed, after a colon; empty if that is not known."""
    try:
        why = (folder / WHY_NAME).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    return f": {why}" if why else ""


def read_sources(folder: Path) -> dict[str, bytes]:
    """Returns the files that the kernel is built from, by their path in its folder. A built kernel carries the same.

    Bytes are compared, not times or versions: a kernel of yesterday's source must not fold today's traces.
    """
    paths = [folder / "Cargo.toml", folder / "crates.lock", folder / "build.rs", *(folder / "src").glob("**/*.rs")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths if path.is_file()}
