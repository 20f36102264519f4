"""The simulation of the guard runs: arrivals are what was asked for, and a page twice as slow is confirmed."""

from pathlib import Path

import numpy as np
import pytest

from bench.guard.accepted import Retold, follow_accepted
from bench.guard.arrivals import Slower, receive
from bench.guard.bases import describe_bases
from bench.guard.month import Followed, find_least, follow_project
from bench.guard.usage import KINDS, describe_usage, draw_visits, find_end, make_traffic
from bench.guard.watching import Watched, watch_release
from bench.statistics.population import load_population
from profcore.stats.estimates import Figure, Interval

CORPUS = Path(__file__).parents[2] / "data" / "corpus.jsonl.gz"


def test_a_release_arrives_hour_by_hour_and_one_page_is_slower() -> None:
    pages = load_population(CORPUS)[:2]
    shares = np.array([0.5, 0.5])
    sides = [
        receive(np.random.default_rng(1), pages, views_a_day=600, shares=shares, days=3, slower=slower)
        for slower in (None, Slower(page=0, factor=2.0))
    ]
    assert [side.views for side in sides] == [sides[0].views] * 2
    assert sides[0].views == pytest.approx(600 * 2.5, rel=0.1)  # it takes over within the first day
    assert sides[0].until(24).views < sides[0].views / 3
    means = [side.of_page(0).us.mean() for side in sides]
    assert means[1] == pytest.approx(2 * means[0], rel=0.001)
    assert (sides[0].of_page(1).us == sides[1].of_page(1).us).all()


@pytest.mark.slow(10)
def test_a_page_twice_as_slow_is_confirmed_soon_and_the_least_is_less() -> None:
    followed = follow_project(CORPUS, 1, 2.0)
    assert all(each.page in each.watched.confirmed for each in followed)
    assert max(each.watched.confirmed[each.page] for each in followed) < 200
    assert all(20 <= views < 200 for views in find_least(followed))


def test_an_unchanged_release_is_watched_by_looks() -> None:
    pages = load_population(CORPUS)[:1]
    rng = np.random.default_rng(3)
    base, head = (receive(rng, pages, views_a_day=100, shares=np.ones(1), days=4) for _ in range(2))
    found = watch_release(base, head, days=4)
    assert 5 < found.looks < 30
    assert found.confirmed == {}


def test_what_was_accepted_is_told_again_if_it_grows_or_was_over() -> None:
    over, within = Figure(1.0, Interval(0.97, 1.03)), Figure(0.725, Interval(0.7, 0.75))
    assert follow_accepted([over] * 9, excess=0.25) == Retold(after_days=None)
    assert follow_accepted([over] * 9, excess=0.25, growth=3.0) == Retold(after_days=2)
    assert follow_accepted([over] * 3 + [within, over] * 3, excess=0.25) == Retold(after_days=None)
    days = [over, over, within, within, over, over]
    assert follow_accepted(days, excess=0.25) == Retold(after_days=4, was_quiet=True)
    assert follow_accepted([within] * 9, excess=0.25) is None


def test_a_slowdown_that_was_accepted_is_not_told_again_by_the_next_looks() -> None:
    pages, rng = load_population(CORPUS)[:1], np.random.default_rng(3)
    base, head = (
        receive(rng, pages, views_a_day=100, shares=np.ones(1), days=4, slower=slower)
        for slower in (None, Slower(page=0, factor=2.0))
    )
    found = watch_release(base, head, days=4, accepts=True)
    assert list(found.accepted) == list(found.confirmed) != []
    assert found.looks > 5
    assert found.retold == set()


def test_without_a_strength_there_is_no_least() -> None:
    assert find_least([Followed(factor=1.0, page="/", base_views=9, views=9, watched=Watched())]) == []


def test_a_rollback_is_noticed_in_a_day_or_two_and_what_is_in_use_is_not_gone() -> None:
    found = {}
    for kind in KINDS:
        rng = np.random.default_rng(2)
        traffic = make_traffic(rng, *draw_visits(rng), kind=kind)
        end = find_end(traffic)
        found[kind] = None if end is None else end - (traffic.rolled_back_at or 0)
    back = found.pop("rolled back")
    assert back is not None
    assert 12 <= back <= 48
    assert set(found.values()) == {None}


def test_the_table_of_rollbacks_has_a_line_for_each_kind() -> None:
    lines = list(describe_usage(1, lambda traffic: traffic.rolled_back_at))
    assert len(lines) == 2 + len(KINDS)
    assert lines[-1].startswith("| rolled back after 2 hours to 5 days | 1 of 1 | – |")


def test_only_a_release_that_was_rolled_back_is_passed_over() -> None:
    rows = [line.strip("| ").split(" | ") for line in list(describe_bases(30))[2:]]
    found = {(words, when): count for words, when, count in rows}
    rolled_back = KINDS["rolled back"]
    assert {count for (words, _), count in found.items() if words != rolled_back} == {"0 of 30"}
    days = [int(found[rolled_back, when].split()[0]) for when in ("on the day of the rollback", "3 days later")]
    assert days[0] == 0
    assert days[1] >= 25
