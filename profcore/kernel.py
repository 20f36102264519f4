"""The compiled kernel: an optional module (packages/fieldflame-kernel) that does the work of some functions here.

Each of them has a pure twin, which is the reference: the kernel gives the same values, or leaves the work to the twin.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Final

MODULE_NAME: Final = "fieldflame_kernel"


class KernelChoice(StrEnum):
    """The values of FIELDFLAME_KERNEL."""

    AUTO = "auto"  # the compiled kernel where it is installed
    COMPILED = "compiled"  # an error where it is not
    PURE = "pure"


class KernelError(Exception):
    """The compiled kernel was chosen and cannot be used; the text says why, in one sentence."""


@dataclass(frozen=True, slots=True)
class LoadedKernel:
    """The compiled kernel; or none, and why the pure twin is used."""

    module: ModuleType | None
    why_pure: str

    @property
    def name(self) -> str:
        """Returns the name of the twin in use."""
        return "pure" if self.module is None else "compiled"


def find_kernel(choice: str = KernelChoice.AUTO) -> LoadedKernel:
    """Returns the kernel in use. A process loads it once, so that it never changes its twin.

    Raises `KernelError` if the choice is "compiled", and the kernel cannot be used.
    """
    if choice == KernelChoice.PURE:
        return LoadedKernel(None, "FIELDFLAME_KERNEL is pure")
    kernel = _load_kernel()
    if kernel.module is None and choice == KernelChoice.COMPILED:
        raise KernelError(f"FIELDFLAME_KERNEL is compiled, but {kernel.why_pure}.")
    return kernel


@cache
def _load_kernel() -> LoadedKernel:
    try:
        return LoadedKernel(import_module(MODULE_NAME), "")
    except ModuleNotFoundError:
        return LoadedKernel(None, "the compiled kernel is not installed")
    except ImportError as error:
        return LoadedKernel(None, f"the compiled kernel cannot be loaded: {error}")
