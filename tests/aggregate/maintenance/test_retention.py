"""Retention by project: raw traces, views and cells go apart from each other; what waits is never deleted."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection

from aggregate.maintenance.merging import merge_old_hours
from aggregate.maintenance.refolding import Scope, finish_run, start_run
from aggregate.maintenance.retention import Expired, expire_all, list_partitions
from aggregate.models import RefoldRun
from ingest.models import Receipt
from ingest.storage.partitions import create_partitions
from profcore.times import start_of_hour
from profcore.trace.dimensions import DIMENSIONS
from projects.creation import create_project
from projects.models import AuditEntry, Project, SharedLink
from tests.aggregate.posting import everything, fold_all, post, rows
from tests.aggregate.stored_state import assert_rollup_is_exact
from tests.builders import now
from tests.envelopes import make_envelope

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("without_old_partitions")]


def age_raw_traces(days: int) -> None:
    """Moves all receipts and raw traces back in time, as if they had come then."""
    create_partitions((now() - timedelta(days=days)).date(), 1)
    with connection.cursor() as cursor:
        for table in ("ingest_tracereceipt", "ingest_rawtrace"):
            cursor.execute(f"UPDATE {table} SET received_at = received_at - make_interval(days => %s)", [days])


def counts() -> tuple[int, ...]:
    """Returns how many raw traces, views, cells and receipts there are."""
    tables = ("ingest_rawtrace", "aggregate_pageview", "aggregate_cell", "ingest_tracereceipt")
    return tuple(rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables)


def keep(slug: str = "shop", **days: int) -> None:
    Project.objects.filter(slug=slug).update(**{f"keep_{name}_days": value for name, value in days.items()})


def test_young_rows_stay(key: str) -> None:
    post(key, make_envelope())
    fold_all()
    assert expire_all(now()) == Expired()
    assert counts() == (1, 1, 1, 1)


def test_a_views_expiry_leaves_its_cells_sums_in_place(key: str) -> None:
    post(key, make_envelope("old", viewStart=(now() - timedelta(days=5)).timestamp() * 1000), make_envelope("new"))
    fold_all()
    before = everything()[:3]
    keep(views=3)
    assert expire_all(now()).views == 1
    assert everything()[:3] == before
    assert counts() == (2, 1, 2, 2)


def test_a_partition_is_dropped_once_no_project_keeps_it_longer(key: str) -> None:
    create_project(slug="other", key="other-key", origins=["*"])
    post(key, make_envelope())
    post("other-key", make_envelope())
    fold_all()
    age_raw_traces(20)
    keep(raw=10)
    keep("other", raw=25)
    expired = expire_all(now())
    assert (expired.partitions, expired.raw_traces) == (0, 1)
    assert counts()[0] == 1
    keep("other", raw=15)
    days = len(list_partitions())
    assert expire_all(now()).partitions == 1
    assert len(list_partitions()) == days - 1
    assert counts()[0] == 0
    assert counts()[1:] == (2, 2, 2)


def test_raw_traces_that_wait_are_never_deleted(key: str) -> None:
    create_project(slug="other", key="other-key", origins=["*"])
    post(key, make_envelope())
    age_raw_traces(20)
    keep(raw=1)
    keep("other", raw=1)
    assert expire_all(now()) == Expired()
    fold_all()
    assert rows("SELECT state FROM ingest_tracereceipt") == [(1,)]
    assert expire_all(now()).partitions == 1


def test_cells_expire_with_all_that_hangs_on_them(key: str) -> None:
    post(key, make_envelope("old", viewStart=(now() - timedelta(days=6)).timestamp() * 1000), make_envelope("new"))
    fold_all()
    merge_old_hours(now())
    keep(cells=5)
    assert expire_all(now()).cells == 2  # the day, and the hour that points to it
    assert counts() == (2, 1, 1, 2)
    for table in ("aggregate_hotspotpiece", "aggregate_calltreepiece"):
        orphans = f"SELECT count(*) FROM {table} h WHERE h.cell_id NOT IN (SELECT id FROM aggregate_cell)"
        assert rows(orphans) == [(0,)]
    assert_rollup_is_exact()
    assert rows("SELECT count(*) FROM aggregate_pageday") == [(1,)]


def test_a_cell_that_expired_between_interning_and_the_fold_is_made_again(key: str) -> None:
    from aggregate.fold.interning import CellKey, intern_cells, settle_cells

    project_id = Project.objects.get().pk
    wanted = CellKey(group_id=1, starts_at=start_of_hour(now()), codes=(0,) * len(DIMENSIONS))
    known = intern_cells(project_id, [wanted])
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM aggregate_cell")
    settled = settle_cells(project_id, known)
    assert rows("SELECT id FROM aggregate_cell") == [(settled[wanted],)]


def test_refusals_and_counts_expire(key: str) -> None:
    project_id = Project.objects.get().pk
    with connection.cursor() as cursor:
        for days in (1, 500):
            cursor.execute(
                "INSERT INTO ingest_refusal (project_id, hour_at, reason, shard, count) VALUES (%s, %s, 'a', 0, 1)",
                [project_id, now() - timedelta(days=days)],
            )
    assert expire_all(now()) == Expired(refusals=1)


def test_refolds_expire_and_those_given_up_let_hours_be_merged_again(key: str) -> None:
    post(key, make_envelope("old", viewStart=(now() - timedelta(days=5)).timestamp() * 1000))
    fold_all()
    project_id = Project.objects.get().pk
    start_run(Scope(project_id))
    finish_run(start_run(Scope(project_id, "1.0.0")))
    assert merge_old_hours(now()) == 0
    assert expire_all(now() + timedelta(days=30)).refold_runs == 0
    assert expire_all(now() + timedelta(days=31)).refold_runs == 2
    assert merge_old_hours(now()) == 1


def test_every_table_that_grows_is_named_by_retention() -> None:
    import inspect

    from aggregate.maintenance import old_funcs, old_groups, old_looks, old_receipts, old_states, retention, store_sizes
    from aggregate.maintenance.packs import deleting as pack_deleting
    from aggregate.sourcemaps import deleting
    from ingest import joining
    from projects import releases

    source = inspect.getsource(retention) + RefoldRun._meta.db_table + Receipt._meta.db_table
    lasting = {"ingest_counter", "projects_project", "projects_ingestkey",
               "projects_membership", "projects_apitoken", "projects_savedview"}  # fmt: skip
    tables = {
        name
        for (name,) in rows(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition "
            "AND (relname LIKE 'ingest~_%%' ESCAPE '~' OR relname LIKE 'aggregate~_%%' ESCAPE '~')"
        )
    }
    by_jobs = {"aggregate_job", "aggregate_jobpiece"}  # expire_jobs deletes them by their models
    assert "expire_jobs" in source
    assert "expire_source_maps" in source
    assert "expire_shared_links" in source
    assert "expire_entries" in source
    source += (
        inspect.getsource(deleting)
        + inspect.getsource(old_groups)
        + inspect.getsource(old_funcs)
        + inspect.getsource(old_looks)
        + inspect.getsource(old_states)
        + inspect.getsource(store_sizes)
        + inspect.getsource(old_receipts)
        + inspect.getsource(pack_deleting)
        + inspect.getsource(releases)
        + inspect.getsource(joining)
        + SharedLink._meta.db_table
        + AuditEntry._meta.db_table
    )
    # A mark a project, and a bounded number of origins, which go with it.
    lasting |= {"aggregate_funcscan", "aggregate_inlineorigin"}
    # Two a project, which go with it: when each queue last took one of its entries.
    lasting |= {"aggregate_queueturn"}
    # One an account, which goes with it.
    lasting |= {"projects_provideridentity"}
    # A bounded number a project (ALERTS_MAX_RULES, ALERTS_MAX_CHANNELS), kept until somebody deletes them.
    lasting |= {"alerts_alertrule", "alerts_channel"}
    # A bounded number a member (SAVED_VIEWS_MAX), kept until they delete it.
    lasting |= {"projects_savedview"}
    assert {name for name in tables - lasting - by_jobs if name not in source} == set()


def test_the_command_says_what_it_deleted(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    post(key, make_envelope("old", viewStart=(now() - timedelta(days=5)).timestamp() * 1000))
    fold_all()
    keep(views=3)
    call_command("expire")
    assert "1 views" in capsys.readouterr().out
