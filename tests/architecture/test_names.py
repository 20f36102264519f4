"""One class name, one meaning: within a package no two modules define a class of one name."""

import ast
from collections import defaultdict
from itertools import takewhile
from typing import Final

from tests.architecture.tree import PACKAGES, list_modules, parse_module

# A format's own words stay in its modules: several formats have frames, threads and samples.
FOREIGN: Final = "profcore.formats."
# Django finds these by their name.
FRAMEWORK: Final = ("Command", "Migration")


def list_classes() -> dict[tuple[str, str], list[str]]:
    """Returns the modules that define each class at their top, by package and class name."""
    classes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for module in list_modules():
        package = module.partition(".")[0]
        if package not in PACKAGES or module.startswith(FOREIGN):
            continue
        for node in parse_module(module).body:
            if isinstance(node, ast.ClassDef) and node.name not in FRAMEWORK:
                classes[package, node.name].append(module)
    return classes


def test_a_class_name_has_one_meaning_in_its_package() -> None:
    classes = list_classes()
    assert len(classes) > 300
    assert {name: modules for name, modules in classes.items() if len(modules) > 1} == {}


def test_records_of_many_fields_take_keywords() -> None:
    """Columns are exempt: they are built column by column, in their order."""
    columns = {"CallTree", "Contribution", "Segments", "TimelineSamples", "TimeParts"}
    names = []
    for module in list_modules():
        if module.partition(".")[0] not in PACKAGES:
            continue
        for node in ast.walk(parse_module(module)):
            if isinstance(node, ast.ClassDef) and node.name not in columns and takes_positions(node):
                names.append(f"{module}.{node.name}")
    assert names == []


def takes_positions(node: ast.ClassDef) -> bool:
    """Tells whether a class is a dataclass of more than four fields that can be built by position."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "dataclass":
            annotated = [statement for statement in node.body if isinstance(statement, ast.AnnAssign)]
            by_position = takewhile(lambda statement: ast.unparse(statement.annotation) != "KW_ONLY", annotated)
            fields = [statement for statement in by_position if is_field(statement)]
            return len(fields) > 4 and not any(word.arg == "kw_only" for word in decorator.keywords)
    return False


def is_field(node: ast.AnnAssign) -> bool:
    """Tells whether an annotated name is set by the constructor."""
    annotation = ast.unparse(node.annotation)
    default = ast.unparse(node.value) if node.value else ""
    return "ClassVar" not in annotation and "init=False" not in default
