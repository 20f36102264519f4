"""The comparison finds the real slow-downs in the recorded apps, and nothing else."""

import pytest

from profcore.stats.comparison import compare
from profcore.stats.views import Measure
from tests.acceptance.comparing import page_callers, page_samples, regressions

AFFECTED = [(app["app"], page) for app in regressions() for page in app["affectedPages"]]
CONTROLS = [(app["app"], page) for app in regressions() for page in app["pages"] if page not in app["affectedPages"]]
MEASURES: list[Measure] = ["self+hidden", "self"]


def expected_funcs(app: str) -> list[str]:
    """Returns the injected function and the callee that carries its cost."""
    names: list[str] = next(
        regression["selfTimeExpectedIn"] for regression in regressions() if regression["app"] == app
    )
    return names


@pytest.mark.parametrize("with_tree", [True, False])
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(("app", "page"), AFFECTED)
def test_the_injected_function_comes_first_among_significant_increases(
    app: str, page: str, measure: Measure, with_tree: bool
) -> None:
    base, head, labels = page_samples(app, page, "1.0.0", "1.1.0")
    answer = compare(base, head, measure=measure, find_callers=page_callers(app, page, "1.1.0") if with_tree else None)
    first = answer.increases[0]
    assert labels[first.func_id].rpartition(":")[2] in expected_funcs(app)
    assert first is answer.functions[0]
    assert first.ci95 is not None
    assert first.ci95.low > 0


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(("app", "page"), CONTROLS)
def test_nothing_is_found_on_a_page_where_nothing_was_injected(app: str, page: str, measure: Measure) -> None:
    base, head, labels = page_samples(app, page, "1.0.0", "1.1.0")
    answer = compare(base, head, measure=measure)
    assert not answer.is_too_few
    assert [(labels[function.func_id], function.q) for function in answer.functions if function.q < 0.05] == []


def test_there_are_six_affected_and_four_control_pages() -> None:
    assert (len(AFFECTED), len(CONTROLS)) == (6, 4)


@pytest.mark.parametrize(("app", "page"), CONTROLS)
def test_a_release_compared_with_itself_shows_no_change(app: str, page: str) -> None:
    base, _, _ = page_samples(app, page, "1.0.0", "1.0.0")
    answer = compare(base, base)
    assert {function.p for function in answer.functions} == {1.0}
    assert {function.delta_ms for function in answer.functions} == {0.0}
