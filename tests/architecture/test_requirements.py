"""What the product imports is named in `requirements/run.in`, and does not only come in with another package."""

import re
import sys
from importlib.metadata import packages_distributions
from typing import Final

from tests.architecture.tree import PRODUCT, ROOT, find_outside_imports, list_modules

# Packages that run.in does not name, and why not.
UNNAMED: Final = {
    "duckdb": "is optional, and large: history.in has it",
    "fieldflame_kernel": "is optional, and built where it runs",
    "kombu": "is half of Celery, whose documentation has its queues and errors",
    "psycopg_pool": "is the extra `pool` of psycopg, which run.in names",
}


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def read_named() -> set[str]:
    """Returns the packages that run.in names, as pip compares names."""
    lines = (ROOT / "requirements" / "run.in").read_text(encoding="utf-8").splitlines()
    return {normalize(re.split(r"[\[<>=~! ]", line)[0]) for line in lines if line and not line.startswith(("#", "-"))}


def test_every_package_that_the_product_imports_is_a_requirement_of_its_own() -> None:
    named, owners = read_named(), packages_distributions()
    unnamed: dict[str, str] = {}
    for module, path in list_modules().items():
        if module.partition(".")[0] not in PRODUCT:
            continue
        for package in find_outside_imports(module) - sys.stdlib_module_names - UNNAMED.keys():
            if not named & {normalize(owner) for owner in owners.get(package, [package])}:
                unnamed[path] = package
    assert unnamed == {}
