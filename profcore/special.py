"""The compiled functions of `scipy.special`, without the Python around them.

The package loads all of NumPy, its tests too: 16 MB of each `./run`, where the functions take 2.5 (November 2026). They
are in a module that its users import from the package, so that name stands for an empty package while it is loaded.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any, Final

PACKAGE: Final = "scipy.special"


def load_functions() -> ModuleType:
    """Returns the module of the functions, or the whole package if that is loaded or the module needs it."""
    spec = find_spec(PACKAGE)
    if spec is None or PACKAGE in sys.modules:
        return import_module(PACKAGE)
    sys.modules[PACKAGE] = module_from_spec(spec)
    try:
        functions = import_module(f"{PACKAGE}._ufuncs")
    except ImportError:
        functions = None
    finally:
        del sys.modules[PACKAGE]
    return functions or import_module(PACKAGE)


special: Final[Any] = load_functions()  # Any: NumPy's functions, typed nowhere
