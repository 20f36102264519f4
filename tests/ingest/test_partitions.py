"""Daily partitions of the raw traces: made ahead, once, in UTC."""

from datetime import UTC, date, datetime

import pytest
from django.db import connection

from ingest.partitions import create_coming_partitions, create_partitions
from ingest.tasks import make_partitions

pytestmark = pytest.mark.django_db


def partitions() -> dict[str, str]:
    """Returns the bounds of every partition by its name."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL TIME ZONE 'Asia/Kathmandu'")
        cursor.execute(
            """SELECT c.relname, pg_get_expr(c.relpartbound, c.oid) FROM pg_inherits i
               JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'ingest_rawtrace'::regclass"""
        )
        return dict(cursor.fetchall())


def test_each_day_has_one_and_making_them_again_changes_nothing() -> None:
    assert create_partitions(date(2030, 12, 31), 2) == 2
    before = partitions()
    assert before["ingest_rawtrace_20301231"] == (
        "FOR VALUES FROM ('2030-12-31 05:45:00+05:45') TO ('2031-01-01 05:45:00+05:45')"
    )
    assert "ingest_rawtrace_20310101" in before
    assert create_partitions(date(2030, 12, 30), 3) == 1
    assert create_partitions(date(2030, 12, 30), 3) == 0
    assert set(partitions()) - set(before) == {"ingest_rawtrace_20301230"}


def test_those_of_yesterday_to_the_days_ahead_are_made() -> None:
    assert create_coming_partitions(date(2030, 6, 15), 3) == 5
    assert {f"ingest_rawtrace_203006{day}" for day in (14, 15, 16, 17, 18)} <= set(partitions())


def test_the_task_makes_todays() -> None:
    make_partitions()
    assert f"ingest_rawtrace_{datetime.now(UTC):%Y%m%d}" in partitions()
