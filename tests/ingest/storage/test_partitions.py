"""Daily partitions of the raw traces: made ahead, once, in UTC."""

from datetime import UTC, date, datetime

import psycopg
import pytest
from django.db import connection

from ingest.storage.partitions import create_coming_partitions, create_partitions
from ingest.tasks import make_partitions
from tests.aggregate.posting import database_url
from tests.partitions import drop_made_partitions

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


def columns_and_indexes(table: str) -> tuple[object, ...]:
    """Returns what a table is made of, without its name and what columns it once had."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT attname, atttypid, attnotnull, attstorage FROM pg_attribute
               WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attname""",
            [table],
        )
        columns = cursor.fetchall()
        cursor.execute("SELECT indkey::text, indisprimary FROM pg_index WHERE indrelid = %s::regclass", [table])
        return columns, sorted(cursor.fetchall())


def test_a_partition_is_made_like_its_table() -> None:
    create_partitions(date(2030, 12, 31), 1)
    assert columns_and_indexes("ingest_rawtrace_20301231") == columns_and_indexes("ingest_rawtrace")


@pytest.mark.django_db(transaction=True)
def test_a_dump_that_reads_the_traces_keeps_no_partition_from_being_made() -> None:
    day = date(2031, 1, 15)
    with psycopg.connect(database_url()) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM ingest_rawtrace")  # as pg_dump does, its lock is held to the end
        try:
            assert create_partitions(day, 1) == 1
        finally:
            reader.rollback()
            drop_made_partitions(day)
