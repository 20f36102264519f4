"""Hidden scripts of a view by origin: at least what samples saw without a stack, at most the script's whole time."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profcore.trace.funcs import FuncTable
from profcore.vitals.forced_layout import find_scripts
from profcore.vitals.hidden_scripts import MAX_ORIGINS, OriginTime, origin_of_address, sum_hidden_scripts
from profcore.vitals.window_sums import tile_samples
from tests.envelopes import make_envelope
from tests.profcore.strategies import PROPERTY
from tests.profcore.vitals.recorded import join, recorded_views

PAGE = "https://shop.example/cart?step=2"
TAG = "https://tag.example/tag.js"
Json = dict[str, Any]  # Any: JSON


def script(start: float, duration: float, url: str = TAG, position: object = -1, function: str = "") -> Json:
    return {"start": start, "duration": duration, "url": url, "position": position, "function": function}


def frame(*scripts: Json, duration: float = 200.0) -> Json:
    return {"type": "long-animation-frame", "start": 0, "duration": duration, "scripts": list(scripts)}


def look(picture: str, *marks: Json, page: str | None = PAGE) -> dict[str, OriginTime]:
    """Returns the hidden time of a view, samples 10 ms apart from 0."""
    timeline = join([make_envelope("a", picture, marks=list(marks), url=page)], FuncTable())
    return dict(sum_hidden_scripts(timeline, find_scripts(timeline.marks), tile_samples(timeline), page))


def test_what_was_seen_in_it_is_taken_off_and_what_had_no_stack_is_certain() -> None:
    found = look("-\n-\n-\n-\nA\nA\n-\n-", frame(script(0, 80)), {"type": "longtask", "start": 0, "duration": 80})
    assert found == {"https://tag.example": OriginTime(60_000, 60_000)}


def test_time_without_samples_is_only_possible() -> None:
    assert look("A", frame(script(50, 80))) == {"https://tag.example": OriginTime(0, 80_000)}


@pytest.mark.parametrize(
    "one",
    [
        script(0, 80, url="https://shop.example/app.js"),  # the page's own
        script(0, 80, position=120, function="load"),  # it has CORS
        script(0, 80, position=-1, function="load"),
        script(0, 80, position=None),  # its sender does not tell
        script(0, 80, url="chrome-extension://abc/x.js"),
        script(0, 80, url="https://[/"),
        script(0, 80, url=""),
        script(0, 0),
    ],
)
def test_other_scripts_are_not_hidden(one: Json) -> None:
    assert look("-", frame(one)) == {}


def test_without_the_pages_address_nothing_is_known() -> None:
    assert look("-", frame(script(0, 80)), page=None) == {}


def test_origins_are_apart_and_few() -> None:
    scripts = [script(n, 1, url=f"https://t{n}.example/a.js") for n in range(MAX_ORIGINS + 5)]
    frames = [frame(*scripts[start : start + 20]) for start in range(0, len(scripts), 20)]
    assert len(look("-", *frames)) == MAX_ORIGINS


def test_the_shops_tag_is_not_hidden_since_it_has_cors() -> None:
    for view in recorded_views("1.2.0", 10):
        timeline = join(view, FuncTable())
        scripts = find_scripts(timeline.marks)
        assert sum_hidden_scripts(timeline, scripts, tile_samples(timeline), view[0]["url"]) == {}


@pytest.mark.parametrize(
    ("address", "origin"),
    [
        ("https://a.example:8443/x", "https://a.example:8443"),
        ("http://[::1]:80/x", "http://[::1]:80"),
        ("https://a.example:99999/", None),
        ("blob:https://a.example/x", None),
        ("//a.example/x", None),
    ],
)
def test_only_web_addresses_have_an_origin(address: str, origin: str | None) -> None:
    assert origin_of_address(address) == origin


@PROPERTY
@given(st.lists(st.tuples(st.floats(-50, 250), st.floats(0, 250)), max_size=8))
def test_bounds_are_in_order_and_within_the_frame(spans: list[tuple[float, float]]) -> None:
    found = look("-\nA\n-\nA B\n-", frame(*(script(start, duration) for start, duration in spans)))
    for least_us, most_us in found.values():
        assert 0 <= least_us <= most_us <= 200_000
