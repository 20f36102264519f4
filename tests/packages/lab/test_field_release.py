"""Which release's field times `fieldflame lab` uses if the field does not know the base."""

from collections.abc import Callable, Mapping

import httpx
import pytest
from fieldflame.exits import CommandError
from fieldflame.lab.command import choose_release
from fieldflame.server import Server

ALL = {"1.2.0": 30, "made-up": 60, "1.1.0": 9_000, "1.0.0": 50_000}  # the newest first
RECENT = {"1.2.0": 30, "made-up": 60, "1.1.0": 9_000}
Choose = Callable[..., str]


@pytest.fixture
def choose() -> Choose:
    def call(
        wanted: str | None, tested: str, *, views: Mapping[str, int] = ALL, recent: Mapping[str, int] = RECENT
    ) -> str:
        def answer(request: httpx.Request) -> httpx.Response:
            if request.url.path.endswith("/releases"):
                return httpx.Response(200, json={"releases": [{"release": name} for name in views]})
            rows = recent if "from" in request.url.params else views
            return httpx.Response(
                200, json={"rows": [{"release": name, "views": count} for name, count in rows.items()]}
            )

        field = Server("https://profiles.example", "shop", "ff_token", transport=httpx.MockTransport(answer))
        return choose_release(field, wanted, tested)

    return call


def test_a_base_that_the_field_knows_is_taken(choose: Choose) -> None:
    assert choose("1.0.0", "1.2.0") == "1.0.0"


def test_neither_the_tested_release_nor_a_made_up_one_is_the_field(choose: Choose) -> None:
    assert choose("1.1.9", "1.2.0") == "1.1.0"
    assert choose(None, "1.2.0") == "1.1.0"


def test_a_new_release_counts_by_the_last_days(choose: Choose) -> None:
    assert (
        choose(None, "1.2.0", views={"1.1.0": 400, "1.0.0": 90_000}, recent={"1.1.0": 400, "1.0.0": 9_000}) == "1.1.0"
    )


def test_where_many_releases_share_the_page_views_the_newest_of_them_counts(choose: Choose) -> None:
    daily = {f"1.{number}": 2_500 for number in range(120, 0, -1)}
    assert choose(None, "1.120", views=daily, recent=daily) == "1.119"


def test_without_page_views_of_the_last_days_all_count(choose: Choose) -> None:
    assert choose(None, "1.2.0", recent={}) == "1.1.0"


def test_a_field_without_another_release_has_none(choose: Choose) -> None:
    with pytest.raises(CommandError, match="no release with enough page views"):
        choose(None, "1.2.0", views={"1.2.0": 500}, recent={"1.2.0": 500})
