"""The table of a comparison: how sure each difference is, how it is drawn, and what new and gone may be."""

import pytest

from aggregate.selectors.code.symbols import FuncLabel, Symbols
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.statistics.comparisons import SliceComparison
from aggregate.selectors.statistics.moved import find_moved
from dashboard.pages.compare.query import TableOptions
from dashboard.pages.compare.table import (
    BAR_EDGE,
    BAR_WIDTH,
    Drawing,
    find_partners,
    list_wanted,
    sureness_of,
)
from dashboard.templatetags.differences import change_as_time, interval_of, q_value, relative_size
from profcore.code.code_rules import CodeRules
from profcore.code.identity import Original
from profcore.stats.comparison import Comparison, Difference
from profcore.stats.estimates import Interval

CODE = Symbols(project_id=1, origins=(), rules=CodeRules(), version=(0, 0, "", ""))


def difference(func_id: int = 0, delta_ms: float = 5.0, q: float = 0.0, **more: object) -> Difference:
    fields: dict[str, object] = {
        "func_id": func_id,
        "status": "changed",
        "base_ms": 10.0,
        "head_ms": 10.0 + delta_ms,
        "delta_ms": delta_ms,
        "ci95": Interval(delta_ms - 2, delta_ms + 2),
        "relative": delta_ms / 10,
        "crude_delta_ms": delta_ms,
        "mix_ms": 0.0,
        "rank_z": delta_ms,
        "p": q,
        "q": q,
        "base_views_ran": 30,
        "head_views_ran": 30,
        "self_delta_ms": delta_ms,
        "is_seen": True,
    }
    return Difference(**(fields | more))  # type: ignore[arg-type]  # its own fields


def func(number: int, name: str, *, line: int | None = 1, body: str | None = None) -> FunctionRow:
    mapped = None
    if body is not None:
        mapped = FuncLabel(
            identity=f"m{number}",
            original=Original("src/a.ts", 1, 1, name, body_hash=body.encode()),
            package=None,
            source_id=1,
            npm_package=None,
        )
    return FunctionRow(
        id=number,
        name=name,
        uri="https://shop.example/app.js",
        line=line,
        column=1,
        mapped=mapped,
    )


def answer(differences: list[Difference], funcs: list[FunctionRow]) -> SliceComparison:
    return SliceComparison(
        Comparison(
            measure="self+hidden",
            base_views=30,
            head_views=30,
            base_population=30,
            head_population=30,
            is_too_few=False,
            left_out_views=0,
            clipped_views=0,
            overall=None,
            functions=tuple(differences),
        ),
        funcs,
    )


@pytest.mark.parametrize(
    ("function", "sureness"),
    [
        (difference(q=0.0005), "clear"),
        (difference(q=0.02), "likely"),
        (difference(q=0.02, ci95=Interval(-19.3, 33.3)), "unclear"),
        (difference(q=0.0, ci95=Interval(-19.3, 33.3)), "unclear"),
        (difference(q=0.05), "noise"),
        (difference(q=float("nan")), "noise"),
        (difference(q=0.0005, rank_z=-3.0), "unclear"),
        (difference(q=0.0005, status="new"), "moved"),
    ],
)
def test_how_sure_a_difference_is_goes_by_q_and_by_what_is_known_of_it(function: Difference, sureness: str) -> None:
    assert sureness_of(function, may_have_moved=function.status == "new") == sureness


def test_what_cannot_move_or_is_mapped_on_both_sides_is_new_for_certain() -> None:
    new, gone = difference(0, status="new"), difference(1, status="gone")
    assert find_moved(answer([new, gone], [func(0, "f"), func(1, "g")])) == {0: "new", 1: "gone"}
    assert find_moved(answer([new, gone], [func(0, "f", body="x"), func(1, "g", body="y")])) == {}
    assert find_moved(answer([new, gone], [func(0, "appendChild", line=None), func(1, "g")])) == {}
    assert find_moved(answer([new], [func(0, "f")])) == {}


def test_decreases_alone_come_largest_first_too() -> None:
    comparison = answer(
        [difference(0, 5.0), difference(1, -3.0), difference(2, -9.0)], [func(n, f"f{n}") for n in range(3)]
    )
    assert [function.func_id for function in list_wanted(comparison, TableOptions(only="decreases"), CODE)] == [2, 1]
    assert [function.func_id for function in list_wanted(comparison, TableOptions(), CODE)] == [0, 1, 2]


def test_new_and_gone_functions_of_one_body_are_offered_to_each_other() -> None:
    funcs = [func(1, "countWords", body="x"), func(2, "wordCount", body="x"), func(3, "other", body="y")]
    comparison = answer([difference(0, -5, status="gone"), difference(1, 5, status="new"), difference(2)], funcs)
    partners = find_partners(comparison)
    assert set(partners) == {1, 2}
    assert (partners[1].gone.name, partners[1].came.name, partners[2].reason) == ("countWords", "wordCount", "body")


def test_all_rows_are_drawn_at_one_scale_with_zero_in_sight() -> None:
    rows = [difference(0, 10.0), difference(1, -4.0)]
    drawing = Drawing.of(rows)
    first, second = (drawing.draw(row) for row in rows)
    assert first.zero == second.zero == first.x
    assert (first.high, second.low) == (f"{BAR_WIDTH - BAR_EDGE:.1f}", f"{BAR_EDGE:.1f}")
    assert float(second.x) + float(second.width) == pytest.approx(float(second.zero), abs=0.2)
    assert float(first.width) / float(second.width) == pytest.approx(2.5, abs=0.02)


def test_a_difference_without_an_interval_has_a_bar_alone() -> None:
    bar = Drawing.of([difference(ci95=None)]).draw(difference(ci95=None))
    assert (bar.low, bar.high) == (None, None)
    assert Drawing.of([]).scale == Drawing.of([difference(delta_ms=0.0, ci95=None)]).scale == 0.0


def test_figures_are_signed_and_short() -> None:
    spaced = [text.replace("\u202f", " ") for text in (change_as_time(1_234.56), change_as_time(-0.5))]
    assert spaced == ["+1.23 s", "−0.5 ms"]
    parts = (-0.052, 8.99, 529.3)
    assert [relative_size(part).replace("\u202f", " ") for part in parts] == ["5.2 %", "899 %", "× 530"]
    assert [q_value(q).replace("\u202f", " ") for q in (0.0004, 0.0154, 0.67)] == ["< 0.001", "0.015", "0.67"]
    assert interval_of(difference(delta_ms=-1.0)).replace("\u202f", " ") == "−3 to 1 ms"
    assert interval_of(difference(ci95=Interval(900.0, 12_000.0))).replace("\u202f", " ") == "900 ms to 12.0 s"
    assert interval_of(difference(ci95=None)) == ""
