"""The matching of functions between releases."""

from dataclasses import replace

from profcore.formats.matching import align_funcs
from profcore.formats.slice import ExportFunc, ExportOriginal, SliceExport
from profcore.sums.calltree import picture
from tests.profcore.formats.builders import export_of

OLD, NEW = "https://shop.example/main-QK26TYEB.js", "https://shop.example/main-ALYJKYDD.js"


def mapped(uri: str, column: int, name: str, *, label: str, source: str = "src/list.ts", line: int = 3) -> ExportFunc:
    return ExportFunc(label=label, name=name, uri=uri, line=1, column=column, original=ExportOriginal(source, line, 1))


def align(base: list[ExportFunc], head: list[ExportFunc]) -> tuple[list[ExportFunc], list[ExportFunc]]:
    sides = align_funcs(*(replace(export_of({}), funcs=funcs) for funcs in (base, head)))
    return list(sides[0].funcs), list(sides[1].funcs)


def test_a_function_at_its_place_in_a_renamed_script_is_the_same() -> None:
    old, new = (
        ExportFunc(label="f", name="f", uri=OLD, line=1, column=10),
        ExportFunc(label="f", name="f", uri=NEW, line=1, column=10),
    )
    assert align([old], [new]) == ([new], [new])


def test_a_function_that_moved_without_a_source_map_is_another() -> None:
    old, new = (
        ExportFunc(label="f", name="f", uri=OLD, line=1, column=10),
        ExportFunc(label="f", name="f", uri=NEW, line=1, column=11),
    )
    assert align([old], [new]) == ([old], [new])


def test_a_mapped_function_is_the_same_wherever_it_moved() -> None:
    old = mapped(OLD, 10, "a", label="render", line=3)
    new = mapped(NEW, 900, "b", label="render", line=7)
    assert align([old], [new]) == ([new], [new])


def test_a_mapped_function_of_another_source_or_name_is_another() -> None:
    old = mapped(OLD, 10, "a", label="render")
    for new in (mapped(NEW, 900, "a", label="draw"), mapped(NEW, 900, "a", label="render", source="src/cart.ts")):
        assert align([old], [new]) == ([old], [new])


def test_several_of_one_name_in_one_script_are_told_apart_by_their_place() -> None:
    first, second = mapped(OLD, 10, "a", label="render"), mapped(OLD, 50, "b", label="render", line=9)
    new = mapped(NEW, 50, "b", label="render", line=12)
    assert align([first, second], [new]) == ([first, new], [new])


def test_the_scripts_of_two_releases_on_one_side_are_one() -> None:
    old, new = mapped(OLD, 10, "a", label="render"), mapped(NEW, 900, "b", label="render")
    assert align([old, new], []) == ([old, old], [])


def test_built_ins_are_the_same_by_name() -> None:
    push = ExportFunc(label="push", name="push")
    assert align([push], [push, ExportFunc(label="pop", name="pop")])[0] == [push]


def test_time_stays_with_its_function() -> None:
    old, new = (
        ExportFunc(label="f", name="f", uri=OLD, line=1, column=10),
        ExportFunc(label="f", name="f", uri=NEW, line=1, column=10),
    )
    base, head = align_funcs(export_of({"f": 5}, funcs=[old]), export_of({"g f": 7, "f": 1}, funcs=[new]))

    def pictured(side: SliceExport) -> str:
        return picture(side.tree, [func.label for func in side.funcs])

    assert pictured(base) == "- f (total: 5, self: 5)"
    assert pictured(head).splitlines()[1] == "  - f (total: 7, self: 7)"
    assert base.funcs[0] == head.funcs[0] == new
