"""Labels, their values, and what selectors mean as slices."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from aggregate.selectors.project import label_sums
from dashboard.api.pyroscope import labels
from projects.models import Project
from tests.builders import MONDAY, make_call_tree, make_cell, make_func
from tests.dashboard.api.pyroscope.asking import ask, epoch_ms, labels_of, question, type_id

Headers = dict[str, str]


@pytest.fixture
def traffic(shop: Project) -> Project:
    """The shop's 9 ms of /cart in 1.0.0, and 1, 2, 4, 8, 16 ms of others."""
    func = make_func(shop, "work")
    for us, cell in (
        (1_000, {"page": "/pay", "release": "1.0.0", "device": "mobile"}),
        (2_000, {"page": "/pay", "release": "1.1.0", "browser": "firefox"}),
        (4_000, {"page": "/product/:id", "release": "2.0.0", "starts_at": MONDAY + timedelta(hours=2)}),
        (8_000, {"page": "/cart", "release": "1.0.0", "browser": "bot"}),
    ):
        make_call_tree(make_cell(shop, js_us=us, **cell), [(-1, func, us)])
    return shop


def total_ms(client: Client, bearer: Headers, selector: str, **more: Any) -> float:
    """Returns the script time of a selector, which its series and its flame graph must agree on."""
    asked = question(selector, hours=3, **more)
    flames = int(ask(client, bearer, "SelectMergeStacktraces", **asked).get("flamegraph", {}).get("total", 0))
    series = ask(client, bearer, "SelectSeries", **asked, step=3600).get("series", [])
    assert sum(point.get("value", 0) for one in series for point in one["points"]) == flames
    return flames / 1e6


@pytest.mark.parametrize(
    ("selector", "ms"),
    [
        ("", 16),
        ("{}", 16),
        ('{service_name="shop"}', 16),
        ('{service_name=~"sh.*"}', 16),
        ('{service_name!="shop"}', 0),
        ('{service_name="elsewhere"}', 0),
        ('{page="/pay"}', 3),
        ('{page!="/pay"}', 13),
        ('{page=~"/pay|/cart"}', 12),
        ('{page=~"/p.*"}', 7),
        ('{page!~"/p.*"}', 9),
        ('{page=~".+"}', 16),
        ('{page=""}', 0),
        ('{page=~"/nowhere.*"}', 0),
        ('{page="/pay", page!="/pay"}', 0),
        ('{page="/pay", page=~"/p.+"}', 3),
        (r'{release=~"1\\..*"}', 12),
        (r'{release=~"1\\..*", page="/pay"}', 3),
        ('{page="/product/:id", release!="1.0.0"}', 4),
        ('{browser="firefox"}', 2),
        ('{browser!="firefox"}', 22),  # names the bots too
        ('{browser="bot"}', 8),
        ('{browser=~"ch.*|fire.*"}', 16),
        ('{browser="netscape"}', 0),
        ('{device=~"mobile.*"}', 1),
        ('{environment="staging"}', 0),
        ('{environment="production", cache="unknown", navigation="unknown"}', 16),
        (f'{{__profile_type__="{type_id("script")}"}}', 16),
        (f'{{__profile_type__="{type_id("hidden")}"}}', 0),
    ],
)
def test_a_selector_is_a_slice(client: Client, bearer: Headers, traffic: Project, selector: str, ms: float) -> None:
    assert total_ms(client, bearer, selector) == ms


@pytest.mark.parametrize(
    ("selector", "detail"),
    [
        ('{namespace="x"}', "There is no label 'namespace'. The labels are service_name, release, page,"),
        ("page", "A label selector is written"),
        ('{page=~"("}', "Of page, the pattern '(' cannot be read"),
        (r'{page="\x00"}', "must not contain a NUL"),
        ('{page=~"' + "|".join(f"/{n}" for n in range(101)) + '"}', "page is given 101 times; at most 100"),
    ],
)
def test_what_cannot_be_said_is_an_error(
    client: Client, bearer: Headers, traffic: Project, selector: str, detail: str
) -> None:
    for method in ("SelectMergeStacktraces", "SelectSeries"):
        answer = ask(client, bearer, method, 400, **question(selector, step=60))
        assert answer["code"] == "invalid_argument"
        assert detail in answer["message"]


def test_patterns_have_room_for_so_many_values(
    client: Client, bearer: Headers, traffic: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(labels, "MAX_MATCHED", 1)
    answer = ask(client, bearer, "SelectMergeStacktraces", 400, **question('{page=~"/p.*"}', hours=3))
    assert answer["message"] == "The selector matches 2 values of page; at most 1 do."
    assert total_ms(client, bearer, '{page=~".*"}') == 16  # all need no condition


@pytest.mark.parametrize(
    ("times", "detail"),
    [
        ({"start": 0, "end": 0}, "start and end must be milliseconds"),
        ({"end": 0}, "start and end must be milliseconds"),
        ({"start": "1794819600"}, "from must be an ISO 8601 time or epoch milliseconds"),  # seconds
        ({"start": "-5"}, "from must be"),
        ({"end": "9223372036854775807"}, "to must be"),
        ({"end": epoch_ms(MONDAY)}, "to must be later than from"),
    ],
)
def test_times_are_checked(client: Client, bearer: Headers, times: dict[str, Any], detail: str) -> None:
    for method in ("SelectMergeStacktraces", "SelectSeries"):
        assert detail in ask(client, bearer, method, 400, **question(step=60) | times)["message"]


def test_times_are_rounded_outwards_to_hours(client: Client, bearer: Headers, traffic: Project) -> None:
    late = {"start": epoch_ms(MONDAY + timedelta(minutes=59)), "end": epoch_ms(MONDAY + timedelta(minutes=61))}
    assert ask(client, bearer, "SelectMergeStacktraces", **question() | late)["flamegraph"]["total"] == "12000000"


def values(client: Client, bearer: Headers, name: str, *matchers: str, **times: int) -> list[str]:
    found: list[str] = ask(client, bearer, "LabelValues", name=name, matchers=matchers, **times).get("names", [])
    return found


def test_labels_have_the_values_that_there_is_data_of(client: Client, bearer: Headers, traffic: Project) -> None:
    names = ask(client, bearer, "LabelNames", matchers=["{}"])["names"]
    assert names == sorted(names)
    assert set(names) == {
        *(
            "service_name",
            "release",
            "page",
            "device",
            "browser",
            "navigation",
            "cache",
            "environment",
            "sdk",
            "capture",
        ),
    }
    assert values(client, bearer, "page") == ["/cart", "/pay", "/product/:id"]
    assert values(client, bearer, "page", '{release="1.0.0"}') == ["/cart", "/pay"]
    assert values(client, bearer, "page", '{release="1.1.0"}', '{release="2.0.0"}') == ["/pay", "/product/:id"]
    hour = {"start": epoch_ms(MONDAY), "end": epoch_ms(MONDAY + timedelta(hours=1))}
    assert values(client, bearer, "page", **hour) == ["/cart", "/pay"]
    assert values(client, bearer, "browser") == ["bot", "chrome", "firefox"]  # bots can be chosen
    assert values(client, bearer, "service_name") == ["shop"]
    assert values(client, bearer, "service_name", '{page="/nowhere"}') == []
    assert values(client, bearer, "__profile_type__") == [
        type_id(kind) for kind in ("engine", "hidden", "script", "script_and_hidden")
    ]
    assert "There is no label 'job'" in ask(client, bearer, "LabelValues", 400, name="job")["message"]


def test_series_are_combinations(client: Client, bearer: Headers, traffic: Project) -> None:
    def series(*names: str, matchers: tuple[str, ...] = ()) -> list[dict[str, str]]:
        answer = ask(client, bearer, "Series", labelNames=names, matchers=matchers)
        return [labels_of(one["labels"]) for one in answer.get("labelsSet", [])]

    assert series("service_name", "page") == [
        {"page": page, "service_name": "shop"} for page in ("/cart", "/pay", "/product/:id")
    ]
    assert series("page", "release", matchers=('{page="/pay"}',)) == [
        {"page": "/pay", "release": "1.0.0"},
        {"page": "/pay", "release": "1.1.0"},
    ]
    kinds = series("service_name", "__profile_type__")
    assert [one["__profile_type__"] for one in kinds] == values(client, bearer, "__profile_type__")
    assert len(series()) == 5
    assert "There is no label 'pod'" in ask(client, bearer, "Series", 400, labelNames=["pod"])["message"]


def test_lists_are_bounded(client: Client, bearer: Headers, traffic: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "At most 10 selectors" in ask(client, bearer, "Series", 400, matchers=["{}"] * 11)["message"]
    monkeypatch.setattr(label_sums, "MAX_VALUES", 2)
    assert "more than 2 combinations" in ask(client, bearer, "LabelValues", 400, name="page")["message"]


def test_a_time_without_data_has_no_values(client: Client, bearer: Headers, shop: Project) -> None:
    late = {"start": epoch_ms(MONDAY + timedelta(days=9)), "end": epoch_ms(MONDAY + timedelta(days=10))}
    assert values(client, bearer, "page", **late) == []
    assert ask(client, bearer, "SelectSeries", **question(step=60) | late) == {}
    assert ask(client, bearer, "SelectMergeStacktraces", **question() | late) == {}


def test_named_values_are_not_looked_up(
    client: Client, bearer: Headers, traffic: Project, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    ask(client, bearer, "ProfileTypes")  # notes the use of the token, once in a while
    with django_assert_max_num_queries(3):  # the token, the merged days, the sums
        ask(client, bearer, "SelectSeries", **question('{page=~"/pay|/cart"}', step=60))
