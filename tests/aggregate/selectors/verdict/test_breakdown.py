"""The breakdown of a change: which device classes and browsers it is in, and how certain that is."""

import pytest
from django.conf import LazySettings

from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.verdict.breakdown import Breakdown, select_breakdown
from projects.models import Project
from tests.builders import make_group, make_project, make_timed_views

pytestmark = pytest.mark.django_db
TIMES = [10_000 + 200 * number for number in range(60)]
SLOWER_US = 30_000


@pytest.fixture
def shop() -> Project:
    """Releases 1.0.0 and 2.0.0 of two pages: the second is 30 ms slower on weak phones, and only there."""
    shop = make_project("shop")
    for release in ("1.0.0", "2.0.0"):
        for page, factor in (("/cart", 1), ("/list", 4)):
            make_group(shop, release, page)
            for device, count in (("desktop-high", 60), ("mobile-low", 60), ("mobile-high", 5)):
                more = SLOWER_US if device == "mobile-low" and release == "2.0.0" else 0
                for browser in ("chrome", "edge"):
                    times = [us * factor + more for us in TIMES[:count]]
                    make_timed_views(shop, times, release=release, page=page, device=device, browser=browser)
    return shop


def ask(project: Project, *dimensions: tuple[str, str], bound: float = 0.05) -> Breakdown:
    base, head = (
        Slice(project_id=project.pk, releases=(release,), dimensions=dimensions) for release in ("1.0.0", "2.0.0")
    )
    return select_breakdown(base, head, bound=bound)


def test_a_change_of_weak_phones_is_found_there_and_nowhere_else(shop: Project) -> None:
    changes = {part.value: part.change for part in ask(shop).parts["device"]}
    assert list(changes) == ["mobile-low", "desktop-high", "mobile-high"]
    assert {value: change.state for value, change in changes.items()} == {
        "mobile-low": "slower",
        "desktop-high": "no_clear_change",
        "mobile-high": "no_clear_change",
    }
    weak = changes["mobile-low"].difference
    assert weak is not None
    assert weak.ci95 is not None
    assert weak.delta_ms == pytest.approx(30)
    assert 0 < weak.ci95.low < 30 < weak.ci95.high
    assert changes["mobile-low"].views == (240, 240)


def test_browsers_are_compared_with_devices_and_pages_as_strata(shop: Project) -> None:
    changes = {part.value: part.change for part in ask(shop).parts["browser"]}
    assert set(changes) == {"chrome", "edge"}
    for change in changes.values():
        assert change.difference is not None
        assert change.difference.delta_ms == pytest.approx(30 * 120 / 250)


def test_a_part_with_too_few_views_says_so_and_has_no_number(shop: Project) -> None:
    for release in ("1.0.0", "2.0.0"):
        make_timed_views(shop, TIMES[:9], release=release, page="/cart", device="mobile", browser="chrome")
    make_timed_views(shop, TIMES, release="2.0.0", page="/cart", device="desktop-low", browser="chrome")
    changes = {part.value: part.change for part in ask(shop).parts["device"]}
    for value, views in (("mobile", (9, 9)), ("desktop-low", (0, 60))):
        assert (changes[value].state, changes[value].difference, changes[value].views) == ("too_few", None, views)


def test_a_dimension_of_one_value_says_nothing_new(shop: Project) -> None:
    parts = ask(shop, ("device", "mobile-low")).parts
    assert parts["device"] == []
    assert [part.change.state for part in parts["browser"]] == ["slower", "slower"]


def test_all_parts_are_one_family_and_keep_to_the_verdicts_bound(shop: Project) -> None:
    parts = [part.change.difference for changes in ask(shop).parts.values() for part in changes]
    smallest = min(change.p for change in parts if change)
    assert min(change.q for change in parts if change) > 2 * smallest  # of five questions
    assert {part.change.state for part in ask(shop, bound=1e-300).parts["device"]} == {"no_clear_change"}


def test_means_are_those_of_all_views_with_caches_too(settings: LazySettings) -> None:
    """Of 200 views of each browser and cache, some 80 are read."""
    settings.CHANGE_MAX_VIEWS = 160
    site = make_project("site")
    for release, more in (("1.0.0", 0), ("2.0.0", SLOWER_US)):
        for browser in ("chrome", "edge"):
            for cache in ("cold", "warm"):
                times = [1_000 * (10 + number % 50) + more for number in range(200)]
                make_timed_views(
                    site, times, release=release, page="/", browser=browser, navigation="load", cache=cache
                )
    changes = [part.change.difference for part in ask(site).parts["browser"]]
    assert [change and change.delta_ms for change in changes] == [pytest.approx(SLOWER_US / 1_000)] * 2
