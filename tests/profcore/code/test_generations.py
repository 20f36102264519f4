"""Two builds under one release name, by the scripts of page views."""

from collections.abc import Sequence

import pytest

from profcore.code.generations import Generations, ScriptsOfView, find_generations

OLD, NEW = "https://shop.example/app-1A2B3C4D.js", "https://shop.example/app-9F8E7D6C.js"
VENDOR = "https://shop.example/vendor-5E5E5E5E.js"


def views_of(*runs: tuple[float, int, Sequence[str]]) -> list[ScriptsOfView]:
    """Returns views: of each run, as many as it says, one every minute from its hour on."""
    return [ScriptsOfView(hour + n / 60, uris) for hour, count, uris in runs for n in range(count)]


def test_a_script_that_replaces_another_is_found() -> None:
    views = views_of((0, 30, [OLD, VENDOR]), (1, 20, [NEW, VENDOR]))
    assert find_generations(views) == Generations(OLD, NEW, 50)
    assert find_generations(views[::-1]) == Generations(OLD, NEW, 50), "whatever their order"


def test_the_newer_one_may_be_the_more_common() -> None:
    assert find_generations(views_of((0, 12, [OLD]), (1, 40, [NEW]))) == Generations(OLD, NEW, 52)


def test_a_few_late_views_of_the_earlier_build_change_nothing() -> None:
    assert find_generations(views_of((0, 40, [OLD]), (1, 40, [NEW]), (2, 1, [OLD]))) == Generations(OLD, NEW, 81)


@pytest.mark.parametrize(
    "views",
    [
        pytest.param([], id="no views"),
        pytest.param(views_of((0, 50, [OLD])), id="one build"),
        pytest.param(views_of((0, 30, [OLD]), (1, 9, [NEW])), id="too few views"),
        pytest.param(views_of((0, 30, [OLD, NEW])), id="two chunks of one build"),
        pytest.param(views_of((0, 30, [OLD]), (0, 30, [NEW])), id="two chunks that never run together"),
        pytest.param(views_of((0, 60, [VENDOR]), (0, 15, [OLD]), (1, 15, [NEW])), id="chunks of a few views"),
        pytest.param([ScriptsOfView(0, [uri]) for uri in [OLD, NEW] * 30], id="all in one hour"),
        pytest.param(
            views_of((0, 30, ["https://shop.example/app.js"]), (1, 30, ["https://shop.example/site.js"])),
            id="no content hash",
        ),
    ],
)
def test_what_proves_no_second_build_is_none(views: list[ScriptsOfView]) -> None:
    assert find_generations(views) is None


def test_of_several_scripts_that_with_most_views_is_told() -> None:
    more = [uri.replace("app", "main") for uri in (OLD, NEW)]
    views = views_of((0, 30, [OLD, more[0]]), (1, 20, [NEW, more[1]]), (2, 5, [more[1]]))
    assert find_generations(views) == Generations(more[0], more[1], 55)
