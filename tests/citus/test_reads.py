"""Every answer of the API and every page on Citus is that of plain PostgreSQL, and so is what people change.

The demo, three releases with source maps, is folded on plain PostgreSQL and copied row by row. Then the same
person asks both databases everything, in the same order and at the same moment.
"""

import hashlib
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from pytest_django import Settings

from aggregate.jobs.requests import iter_result
from aggregate.maintenance.project_deletion import begin_deletion, delete_project
from aggregate.models import Job
from aggregate.sourcemaps.labelling import label_all
from projects.limits import change_limits
from projects.models import Project
from tests.aggregate.jobs.running_jobs import again, run_jobs, start
from tests.aggregate.posting import rows
from tests.citus.asked_site import API, PAGES, SIZES, Site, addresses_of, ask, make_site
from tests.citus.cluster import NEEDS_CITUS, open_database
from tests.citus.twins import asking, copy_database

pytestmark = [NEEDS_CITUS, pytest.mark.django_db(transaction=True), pytest.mark.slow(120)]


@pytest.fixture
def site(settings: Settings) -> Site:
    settings.SYMBOLICATE_TIMEOUT_S = 300
    return make_site()


def on_both(read: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns what a function gives on plain PostgreSQL, and on Citus with the same rows before it."""
    with open_database() as url:
        copy_database(url)
        now = datetime.now(UTC)
        with time_machine.travel(now, tick=False):
            plain = read()
        with asking(url), time_machine.travel(now, tick=False):
            spread = read()
    return plain, spread


def test_every_answer_and_page_and_export_is_the_same(site: Site) -> None:
    addresses = list(dict.fromkeys(addresses_of(site)))
    plain, spread = on_both(lambda: {address: ask(site.client, address) for address in addresses})
    assert {address: answer[0] for address, answer in plain.items() if answer[0] >= 500} == {}
    assert sum(answer[0] == 200 for answer in plain.values()) > len(addresses) * 0.9
    other = {address for address, answer in spread.items() if answer != plain[address]}
    assert other <= {SIZES}
    assert spread[SIZES][0] == 200


def test_jobs_and_administration_do_the_same(site: Site) -> None:
    plain, spread = on_both(lambda: dict(act(site)))
    assert spread == plain


def act(site: Site) -> Iterator[tuple[str, Any]]:
    """Does what people do, and yields each outcome by name."""
    project = Project.objects.get(pk=site.project.pk)
    for kind in ("functions", "calltree", "flamegraph", "profile"):
        job = start(project, ("view", site.view), *([("format", "pprof")] if kind == "profile" else []), kind=kind)
        run_jobs()
        done = again(job)
        assert done.state == Job.State.DONE, done.error_detail
        yield f"job {kind}", (done.done_traces, done.total_traces, hashlib.sha256(b"".join(iter_result(done))).digest())
    for address, fields, status in (
        ("settings/", {"name": "Another name"}, 302),
        ("settings/routes/", {"rules": "/cart/*"}, 302),
        ("settings/keys/", {"origins": "https://a.example"}, 302),
        ("settings/tokens/", {"name": "CI", "scopes": ["read"], "days": "90"}, 200),  # it is shown once
        (f"views/{site.view}/erase/", {"confirm": "erase"}, 302),
        ("settings/archive/", {}, 302),
    ):
        assert site.client.post(f"{PAGES}{address}", fields).status_code == status, address
    change_limits(project, {"keep_raw_days": 9})
    run_jobs()
    yield "erased", site.client.get(f"{API}views/{site.view}").status_code
    label_all()
    for table in (
        "projects_apitoken",
        "projects_ingestkey",
        "ingest_tracereceipt",
        "aggregate_pageview",
        "aggregate_label",
        "ingest_rawtrace",
        "projects_auditentry",
    ):
        yield table, rows(f"SELECT count(*) FROM {table}")
    yield (
        "sums",
        rows(
            "SELECT sum(js_us), sum(hidden_us), sum(views), sum(traces) FROM aggregate_cell WHERE project_id = %s",
            project.pk,
        ),
    )
    begin_deletion(project)
    later = datetime.now(UTC).replace(year=2100)
    yield "gone", delete_project(Project.objects.get(pk=project.pk), later)
    yield (
        "left",
        [rows(f"SELECT count(*) FROM {table}") for table in ("aggregate_func", "aggregate_job", "ingest_group")],
    )
