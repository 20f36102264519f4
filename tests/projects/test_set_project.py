"""`set_project`: a project's retention and quota by command, checked, and printed as JSON."""

import json
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import CommandError
from pytest_django import Settings

from aggregate.maintenance.retention import expire_all
from projects.audit.actors import Actor, ActorKind, acting_as
from projects.creation import create_project
from projects.limits import LIMITS, change_limits, limit_of
from projects.models import Project

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def shop() -> Project:
    project, _ = create_project(slug="shop", key="shop-key", origins=["*"])
    return project


def run(*arguments: str) -> dict[str, Any]:
    out = StringIO()
    call_command("set_project", *arguments, stdout=out)
    printed: dict[str, Any] = json.loads(out.getvalue())
    return printed


def test_without_options_it_prints_what_holds(settings: Settings) -> None:
    settings.KEEP_RAW_DAYS = 31
    printed = run("shop")
    assert printed["slug"] == "shop"
    assert printed["limits"]["keep_raw_days"] == {"own": None, "default": 31, "effective": 31}
    assert printed["limits"]["max_traces_per_day"] == {"own": None, "default": 0, "effective": 0}
    assert set(printed["limits"]) == set(LIMITS)


def test_it_sets_some_and_leaves_the_rest(shop: Project) -> None:
    run("shop", "--keep-raw-days", "14", "--max-traces-per-day", "100000")
    printed = run("shop", "--keep-cells-days", "800")["limits"]
    limits = {name: limit["own"] for name, limit in printed.items() if limit["own"] is not None}
    assert limits == {"keep_cells_days": 800, "keep_raw_days": 14, "max_traces_per_day": 100_000}
    shop.refresh_from_db()
    assert (shop.keep_raw_days, shop.keep_views_days, shop.max_traces_per_day) == (14, None, 100_000)
    assert run("shop", "--keep-raw-days", "default")["limits"]["keep_raw_days"]["own"] is None


def test_no_quota_is_not_the_default_quota(settings: Settings) -> None:
    settings.INGEST_MAX_TRACES_PER_DAY = 500
    assert run("shop")["limits"]["max_traces_per_day"]["effective"] == 500
    assert run("shop", "--max-traces-per-day", "0")["limits"]["max_traces_per_day"]["effective"] == 0


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--keep-raw-days", "0", "keep_raw_days: Ensure this value is greater than or equal to 1"),
        ("--keep-raw-days", "36501", "keep_raw_days: Ensure this value is less than or equal to 36500"),
        ("--keep-views-days", "-1", "keep_views_days: '-1' is neither a whole number"),
        ("--keep-cells-days", "a year", "keep_cells_days: 'a year' is neither a whole number"),
        ("--max-traces-per-day", "9999999999", "max_traces_per_day: Ensure this value is less than"),
    ],
)
def test_what_cannot_hold_is_refused_and_changes_nothing(shop: Project, option: str, value: str, sentence: str) -> None:
    run("shop", "--keep-raw-days", "14", "--max-traces-per-day", "5")
    with pytest.raises(CommandError, match=f"Nothing was changed. {sentence}"):
        run("shop", "--keep-views-days=20", f"{option}={value}")
    shop.refresh_from_db()
    assert (shop.keep_raw_days, shop.keep_views_days, shop.max_traces_per_day) == (14, None, 5)


def test_only_a_command_lifts_limits_that_are_ceilings(shop: Project, settings: Settings) -> None:
    settings.KEEP_RAW_DAYS, settings.INGEST_MAX_MB_PER_DAY, settings.INGEST_MAX_TRACES_PER_DAY = 30, 100, 0
    most = {"keep_raw_days": 31, "max_mb_per_day": 0, "max_traces_per_day": 7}
    change_limits(shop, most)
    settings.LIMITS_ARE_CEILINGS = True
    with pytest.raises(ValidationError) as caught:
        change_limits(shop, most)
    assert caught.value.message_dict == {
        "keep_raw_days": ["This server allows at most 30."],
        "max_mb_per_day": ["This server allows at most 100."],
    }
    change_limits(shop, {"keep_raw_days": 30, "max_mb_per_day": None, "max_traces_per_day": 0})
    with acting_as(lambda: Actor(ActorKind.COMMAND)):
        change_limits(shop, most)
    assert limit_of(shop, "keep_raw_days").effective == 31


def test_an_unknown_project_is_said() -> None:
    with pytest.raises(CommandError, match="no project with the slug 'nowhere'"):
        run("nowhere", "--keep-raw-days", "1")


def test_the_service_takes_known_fields_and_whole_numbers_alone(shop: Project) -> None:
    for changes in ({"slug": 1}, {"keep_raw_days": True}, {"keep_raw_days": "3"}, {"keep_raw_days": 1.5}):
        with pytest.raises(ValidationError):
            change_limits(shop, {"keep_views_days": 9, **changes})
        assert limit_of(shop, "keep_views_days").own is None


def test_the_longest_retention_there_may_be_expires_nothing_and_does_not_fail() -> None:
    run("shop", "--keep-raw-days", "36500", "--keep-views-days", "36500", "--keep-cells-days", "36500")
    assert expire_all(datetime.now(UTC)).cells == 0
