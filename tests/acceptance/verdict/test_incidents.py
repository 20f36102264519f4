"""The verdict on the recorded apps: every slowed page by its function, nothing on the others, nothing in mixes."""

from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from profcore.stats.comparison import Comparison, compare
from profcore.stats.joining import join_columns, pick_columns
from profcore.stats.verdict.family import PageSides, read_page
from profcore.stats.verdict.incidents import Code
from profcore.stats.verdict.judgement import Judgement, judge
from profcore.stats.views import ViewSample, align, keep_rows, sample_of_times
from tests.acceptance.comparing import numbered, page_callers, page_samples, regressions

APPS = {app["app"]: app for app in regressions()}
Sides = dict[str, tuple[ViewSample, ViewSample]]


@cache
def recorded(app: str) -> Sides:
    """Returns both releases' samples of each page of an app."""
    samples = {page: page_samples(app, page, "1.0.0", "1.1.0")[:2] for page in APPS[app]["pages"]}
    return {
        page: (tagged(base, number), tagged(head, number))
        for number, (page, (base, head)) in enumerate(samples.items(), start=1)
    }


def tagged(sample: ViewSample, page: int) -> ViewSample:
    """Returns a sample whose views have the code of a page."""
    return replace(sample, columns=replace(sample.columns, page=np.full(sample.views, page)))


def joined(base: ViewSample, head: ViewSample) -> ViewSample:
    """Returns the views of both releases as one sample, the base's first."""
    base, head = align(base, head)
    return replace(
        base,
        view=np.concatenate([base.view, head.view + base.views]),
        func=np.concatenate([base.func, head.func]),
        self_us=np.concatenate([base.self_us, head.self_us]),
        total_us=np.concatenate([base.total_us, head.total_us]),
        hidden_us=np.concatenate([base.hidden_us, head.hidden_us]),
        columns=join_columns([base.columns, head.columns]),
        population=base.population + head.population,
    )


def pick_views(sample: ViewSample, is_kept: npt.NDArray[np.bool_]) -> ViewSample:
    """Returns some views of a sample, with all its func ids."""
    number = np.cumsum(is_kept) - 1
    picked = keep_rows(sample, is_kept[sample.view])
    columns = pick_columns(sample.columns, is_kept)
    return replace(picked, view=number[picked.view], columns=columns, population=int(is_kept.sum()))


def judge_app(app: str, sides: Sides) -> Judgement:
    """Returns the judgement on the pages of an app as the product makes it, with one look."""
    times = {page: tuple(sample_of_times(side.columns) for side in pair) for page, pair in sides.items()}
    pages: dict[str, Comparison] = {page: compare(*pair) for page, pair in times.items()}
    together = [
        sample_of_times(join_columns([sample.columns for sample in side])) for side in zip(*times.values(), strict=True)
    ]
    read = (read_page(page, *pair) for page, pair in sides.items())
    known: list[PageSides] = [page for page in read if page is not None]
    files = {number: label.rpartition(":")[0] for number, label in enumerate(numbered()[1])}
    code = Code(read_callers=lambda pages: page_callers(app, pages[0], "1.1.0"), find_file=files.get)
    return judge(compare(*together, by_page=True), pages, sides=known, code=code)


@pytest.mark.parametrize("app", APPS)
def test_each_slowed_page_is_slower_by_the_function_that_was_slowed(app: str) -> None:
    judgement = judge_app(app, recorded(app))
    assert judgement.state == "slower"
    slower = {page.page for page in judgement.pages if page.shown_state == "slower"}
    assert slower == set(APPS[app]["affectedPages"])
    labels = numbered()[1]
    (incident,) = judgement.incidents
    assert labels[incident.func_id].rpartition(":")[2] in APPS[app]["selfTimeExpectedIn"]
    assert set(incident.pages) == slower
    assert not incident.is_certain  # all views are of one hour


@pytest.mark.parametrize("app", APPS)
def test_views_of_both_releases_mixed_at_random_show_nothing(app: str) -> None:
    rng = np.random.default_rng([31, *app.encode()])
    found = 0
    for _ in range(6):
        mixed: Sides = {}
        for page, pair in recorded(app).items():
            every = joined(*pair)
            is_head = rng.permutation(every.views) < pair[1].views
            mixed[page] = pick_views(every, ~is_head), pick_views(every, is_head)
        found += judge_app(app, mixed).state != "no_clear_change"
    assert found <= 1
