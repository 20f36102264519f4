"""The simulated release alert, on fixed seeds: what it must find, and what it must not send messages about."""

from functools import partial

import numpy as np
import pytest

from benchmarks.alerts.arrivals import BROWSERS, HOURS, PageViews, Traffic, receive
from benchmarks.alerts.effects import (
    Project,
    choose_new_function,
    choose_recorded,
    choose_refactored,
    choose_slower_function,
    choose_unchanged,
)
from benchmarks.alerts.releases import LOOKS, TABLES, Row, describe_row, follow, look_once
from benchmarks.statistics.population import load_population, load_populations
from profcore.stats.views import IntColumn


def cost(page: PageViews, func: int) -> float:
    """Returns the mean µs of a function in all views."""
    sample = page.sample(page.views)
    is_it = sample.func_ids[sample.func] == func
    return float(sample.row_us("self+hidden")[is_it].sum() / sample.views)


def receive_page(project: Project, traffic: Traffic | None = None, *, is_head: bool = False) -> PageViews:
    """Returns the views of the page that a project changes."""
    rng, at = np.random.default_rng(1), project.page or 0
    pages = (project.head if is_head else project.base)[at : at + 1]
    given = {"views_a_day": 600, "shares": np.ones(1), "days": 3, "traffic": traffic or Traffic(), "is_head": is_head}
    (page,) = receive(rng, pages, **given).pages  # type: ignore[arg-type]  # one dict of them
    return project.alter(rng, page) if is_head and project.page is not None else page


def test_a_release_arrives_hour_by_hour_in_sessions_of_visitors() -> None:
    plain = receive_page(choose_unchanged(0))
    assert plain.views == pytest.approx(600 * 2.5, rel=0.1)  # it takes over within the first day
    assert plain.until(2 * HOURS).views < plain.views / 3
    app = receive_page(choose_unchanged(0), Traffic(sessions="app", visitor_sigma=0.4))
    busiest = [int(np.bincount(page.hour).max()) for page in (plain, app)]
    assert busiest[1] > busiest[0]


def test_views_have_functions_whose_time_is_that_of_the_view() -> None:
    project = choose_slower_function(3, share=0.05, factor=2.0)
    (func,) = project.culprits
    base, head = receive_page(project), receive_page(project, is_head=True)
    sample = head.sample(200)
    assert sample.views == 200
    of_rows: IntColumn = np.bincount(sample.view, sample.self_us, minlength=200)
    np.testing.assert_allclose(of_rows, sample.columns.js_us, rtol=0.001, atol=100)
    whole = sum(float(column.mean()) for column in base.times_us())
    assert cost(base, func) / whole == pytest.approx(0.05, rel=0.3)
    assert cost(head, func) / cost(base, func) == pytest.approx(2.0, rel=0.15)


def test_a_release_of_a_recorded_regression_has_the_other_recording() -> None:
    project = choose_recorded(5)
    assert [load_populations().functions[func].name for func in project.culprits] == ["findRuleFor"]
    (func,) = project.culprits
    assert cost(receive_page(project, is_head=True), func) > 50_000 + cost(receive_page(project), func)


def test_time_that_moves_is_not_lost() -> None:
    project = choose_refactored(1, part=0.5, is_new=True, same_file=True)
    base, head = receive_page(project), receive_page(project, is_head=True)
    (source, new) = (effect.func for effect in head.effects)
    assert cost(head, source) / cost(base, source) == pytest.approx(0.5, rel=0.1)
    assert cost(head, source) + cost(head, new) == pytest.approx(cost(base, source), rel=0.05)
    added = receive_page(choose_new_function(1, ms=20.0), is_head=True)
    assert added.effects[0].self_us.mean() == pytest.approx(20_000, rel=0.15)


def test_visitors_are_named_only_where_senders_do() -> None:
    plain, named = (
        receive_page(choose_unchanged(0), Traffic(sessions="app", names_sessions=names)) for names in (False, True)
    )
    assert not plain.session.any()
    assert 1 < named.views / np.unique(named.session).size < 10
    per_hour = [np.unique(named.hour[named.session == session]).size for session in np.unique(named.session)[:50]]
    assert set(per_hour) == {1}


def test_versions_of_browsers_have_their_shares() -> None:
    sides = [
        receive_page(choose_unchanged(0), Traffic(updated=(0.1, 0.9)), is_head=is_head).traits
        for is_head in (False, True)
    ]
    shares = [[float(np.mean(traits == version)) for version in BROWSERS] for traits in sides]
    assert shares == [pytest.approx([0.09, 0.81, 0.1], abs=0.04), pytest.approx([0.01, 0.09, 0.9], abs=0.04)]


def test_cold_caches_monitors_and_browsers_change_the_head_only() -> None:
    cold = [
        receive_page(choose_unchanged(0), Traffic(cold=(0.3, 0.9)), is_head=is_head).until(
            (5 if is_head else 2) * HOURS
        )
        for is_head in (False, True)
    ]
    shares = [page.recorded.is_cold[page.picked].mean() for page in cold]
    assert shares == [pytest.approx(0.3, abs=0.1), pytest.approx(0.9, abs=0.05)]
    monitor = [
        receive_page(choose_unchanged(0), Traffic(monitor=(0.3, 0.05)), is_head=is_head) for is_head in (False, True)
    ]
    most = [np.bincount(page.picked).max() / page.views for page in monitor]
    assert most[0] > 0.3 > most[1]


@pytest.mark.slow(20)
def test_recorded_regressions_are_confirmed_with_the_right_function() -> None:
    followed = [follow(TABLES["slower"][0], number) for number in range(6)]
    assert describe_row(followed)[2].startswith("100.0")
    assert describe_row(followed)[3:5] == ["100.0", "0.0"]  # right function, another page


@pytest.mark.slow(20)
def test_a_function_with_a_twentieth_of_its_page_is_named() -> None:
    row = Row("5 %", partial(choose_slower_function, share=0.05, factor=1.5))
    named = [look_once(row, number)[0] for number in range(20)]
    assert sum(named) >= 19


@pytest.mark.slow(40)
@pytest.mark.parametrize("row", TABLES["unchanged"][2:], ids=lambda row: row.name)
def test_an_unchanged_release_is_not_confirmed_whatever_visitors_and_days_do(row: Row) -> None:
    assert [follow(row, number).watched.confirmed for number in (1, 3)] == [{}] * 2


@pytest.mark.slow(4)
@pytest.mark.parametrize(
    ("name", "numbers"),
    [("unchanged, browser 10 % slower", (4, 7, 9, 11)), ("unchanged, days differ by 10 %, staged", (2, 7, 21, 23))],
)
def test_a_browser_or_a_day_does_not_look_like_a_slower_release(name: str, numbers: tuple[int, ...]) -> None:
    """All of these seemed slower as long as neither versions nor days were strata."""
    (row,) = (row for row in LOOKS if row.name == name)
    assert [look_once(row, number) for number in numbers] == [(False, False)] * len(numbers)


@pytest.mark.slow(30)
def test_time_that_moved_is_not_confirmed() -> None:
    assert [follow(TABLES["refactored"][2], number).watched.confirmed for number in (0, 9)] == [{}] * 2


def test_all_pages_are_of_the_recorded_apps() -> None:
    assert len(load_population()) == 10
    many = choose_unchanged(0, copies=4).base
    assert len({page.name for page in many}) == 40
    assert sum(np.unique(page.columns[0]).size for page in many) > 7_000
