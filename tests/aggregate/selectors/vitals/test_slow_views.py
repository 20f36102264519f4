"""Views of which only slow moments were kept: in no mean, in the vitals' slow windows, at the rate of both kinds."""

import random
from typing import Any
from uuid import UUID

import pytest

from aggregate.selectors.page_views.picked_views import select_views
from aggregate.selectors.page_views.view_lists import ListQuery, select_view_page
from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.vitals.sampled_figures import select_interaction_script
from aggregate.selectors.vitals.table import VitalsQuery, VitalsTable, select_vitals
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db
WHOLE = {"sampleRate": 0.05, "slowRate": 0.5}
SLOW = {"sampleRate": 0.5, "slowRate": 0.5, "onlySlow": True}


def send(name: str, picture: str, interaction_ms: float, **fields: Any) -> None:  # Any: JSON
    marks = [{"type": "interaction", "name": "click", "start": 0, "duration": interaction_ms}] if interaction_ms else []
    post("KEY-shop", make_envelope(name, picture, page="/a", marks=marks, **fields))


@pytest.fixture
def shop() -> Project:
    """Thirty whole views, of which three are slow, and 27 with only their slow moments. One in twenty is kept whole."""
    project = make_project("shop")
    for n in range(27):
        send(f"w{n}", "A\n" * 4, 100, **WHOLE)
        send(f"s{n}", "B\n" * 40, 400, **SLOW)
    for n in range(3):
        send(f"b{n}", "B\n" * 30, 300, **WHOLE)
    fold_all()
    return project


def window_of(table: VitalsTable, name: str) -> tuple[int, float]:
    window = table.find(name)
    assert window is not None
    return window.views, window.ms_per_view


def test_no_mean_has_them_and_a_slice_may_ask_for_them(shop: Project) -> None:
    whole = Slice(project_id=shop.pk)
    assert select_overview(whole, [], limit=1).whole.views == 30
    assert select_overview(whole.with_values("capture", "slow"), [], limit=1).whole.views == 27


def test_slow_windows_are_of_all_views_and_weigh_what_they_stand_for(shop: Project) -> None:
    table = select_vitals(Slice(project_id=shop.pk), VitalsQuery())
    assert (table.population, table.read, table.only_slow) == (57, 57, 27)
    # Each of thirty slow ones stands for 2 visits, and each of 27 whole ones that are not slow for 20.
    views, ms_per_view = window_of(table, "interaction")
    assert views == 57
    assert ms_per_view == pytest.approx((27 * 20 * 100 + 3 * 2 * 300 + 27 * 2 * 400) / (27 * 20 + 30 * 2))


def test_the_parts_of_weighted_windows_add_up(shop: Project) -> None:
    window = select_vitals(Slice(project_id=shop.pk), VitalsQuery()).find("interaction")
    assert window is not None
    assert sum(window.parts_us) == window.length_us
    assert sum(row.row.cost_us for row in window.rows) == pytest.approx(window.parts_us[0], abs=2)


def test_slow_waits_need_no_weights(shop: Project) -> None:
    table = select_vitals(Slice(project_id=shop.pk), VitalsQuery(only_slow=True))
    views, ms_per_view = window_of(table, "interaction")
    assert (views, round(ms_per_view, 6)) == (30, 390)


def test_what_is_not_slow_of_a_slow_view_is_not_known(shop: Project) -> None:
    send("s99", "B\n" * 4, 100, **SLOW)
    fold_all()
    assert window_of(select_vitals(Slice(project_id=shop.pk), VitalsQuery()), "interaction")[0] == 57


def test_whoever_chooses_whole_views_gets_only_these(shop: Project) -> None:
    table = select_vitals(Slice(project_id=shop.pk).with_values("capture", "whole"), VitalsQuery())
    assert (table.population, table.only_slow, window_of(table, "interaction")[0]) == (30, 0, 30)


def test_a_budget_of_interactions_weighs_them_too(shop: Project) -> None:
    for n in range(60):
        send(f"more{n}", "A\n" * 4, 100, **WHOLE)
        send(f"slow{n}", "B\n" * 30, 300, **SLOW)
    fold_all()
    script = select_interaction_script(Slice(project_id=shop.pk), most_views=400)
    assert script.figure is not None
    # More views than not are slow, but they stand for a tenth of the visits.
    assert script.views == 177
    assert script.figure.value == pytest.approx(40)


def test_the_worst_views_are_of_both_kinds(shop: Project) -> None:
    slice_ = Slice(project_id=shop.pk)
    slow = {UUID(view_id_of(f"s{n}")) for n in range(27)}
    page = select_view_page(slice_, ListQuery(order="worst", limit=27))
    assert {key[0] for key, _ in page.keys} == slow
    assert page.view_count == 57
    assert page.distribution.population == 30
    assert {row.view.view_id for row in select_views(slice_, func_id=None, order="worst", limit=27).views} == slow
    assert select_view_page(slice_, ListQuery(order="typical")).view_count == 30


def test_both_kinds_together_are_right_on_average() -> None:
    """Over draws, the weighted mean of a window is that of all visits, and so is the share of slow ones."""
    project = make_project("shop")
    chance = random.Random(7)
    lengths = [chance.choice((80, 120, 250, 600)) for _ in range(400)]
    for n, ms in enumerate(lengths):
        if chance.random() < 0.3:
            send(f"v{n}", "A\n" * 2, ms, sampleRate=0.3, slowRate=1.0)
        elif ms > 200:
            send(f"v{n}", "A\n" * 2, ms, sampleRate=1.0, slowRate=1.0, onlySlow=True)
    fold_all()
    _, ms_per_view = window_of(select_vitals(Slice(project_id=project.pk), VitalsQuery()), "interaction")
    assert ms_per_view == pytest.approx(sum(lengths) / len(lengths), rel=0.1)


def test_hidden_scripts_of_mixed_rates_are_those_of_visits() -> None:
    project = make_project("shop")
    script = {"start": 0, "duration": 100, "url": "https://tag.example/tag.js", "position": -1, "function": ""}
    frame = {"type": "loaf", "start": 0, "duration": 120, "scripts": [script]}
    for n in range(30):
        for name, rate, marks in (("rare", 0.1, [frame]), ("often", 1.0, [])):
            fields = {"url": "https://shop.example/a", "sampleRate": rate, "marks": marks}
            post("KEY-shop", make_envelope(f"{name}{n}", "-\n-", page="/a", **fields))
    fold_all()
    (row,) = select_vitals(Slice(project_id=project.pk), VitalsQuery()).hidden_scripts
    assert row.summary is not None
    assert row.most_ms == pytest.approx(100 * 300 / 330)
    assert row.summary.ms_per_view.value == pytest.approx(row.most_ms)


def test_one_view_of_a_made_up_rate_does_not_decide_the_mean() -> None:
    project = make_project("shop")
    for n in range(60):
        send(f"v{n}", "A\n" * 4, 100)
    send("stray", "A\n" * 4, 9_000, sampleRate=1e-9)
    fold_all()
    views, ms_per_view = window_of(select_vitals(Slice(project_id=project.pk), VitalsQuery()), "interaction")
    assert views == 61
    assert ms_per_view < 300
