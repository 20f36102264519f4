"""Every answer of the API and every page on Citus is that of plain PostgreSQL, and so is what people change.

The demo, three releases with source maps, is folded on plain PostgreSQL and copied row by row. Then the same
person asks both databases everything, in the same order and at the same moment.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.http import StreamingHttpResponse
from django.test import Client
from pytest_django import Settings

from aggregate.folding.rolling import roll_up_hours
from aggregate.jobs.requests import iter_result
from aggregate.models import Func, Job, View
from aggregate.sourcemaps.labelling import label_all
from aggregate.upkeep.merging import merge_old_hours
from aggregate.upkeep.project_deletion import begin_deletion, delete_project
from config.demo.loading import ensure_demo_project, store_views, upload_maps
from config.demo.story import RELEASES, SLUG
from ingest.models import Membership, Project, RawTrace
from ingest.projects.limits import change_limits
from profcore.formats.registry import EXPORTERS
from tests.aggregate.jobs.running_jobs import again, run_jobs, start
from tests.aggregate.posting import fold_all, rows
from tests.citus.cluster import NEEDS_CITUS, open_database
from tests.citus.twins import asking, copy_database
from tests.dashboard.conftest import VIEW_ID
from tests.dashboard.web.addresses import API_ADDRESSES, TRACE
from tests.dashboard.web.test_isolation import ADMIN_ADDRESSES, PAGE_ADDRESSES, PROJECT_QUESTION_ADDRESSES

pytestmark = [NEEDS_CITUS, pytest.mark.django_db(transaction=True), pytest.mark.slow(120)]
VIEWS = int(os.environ.get("FIELDFLAME_TEST_VIEWS", "150"))  # more, for `measure_reads`
BASE, HEAD = RELEASES[1:]
API = f"/api/v1/projects/{SLUG}/"
PAGES = f"/projects/{SLUG}/"
SIZES = f"{PAGES}settings/retention/"  # with bytes of disk: the coordinator does not know those of the workers
# Each form has another token against forged requests.
TOKEN = re.compile(rb'(csrf[a-z]*"? (?:value|content)="|data-csrf[a-z-]*=")[^"]+')


@dataclass(frozen=True)
class Site:
    """What addresses name: a person's session, and rows of the demo."""

    client: Client
    project: Project
    view: str
    trace: str
    func: int


@pytest.fixture
def site(settings: Settings) -> Site:
    """The demo, folded, with labels, in days and in the roll-up; an owner who is logged in."""
    settings.SYMBOLICATE_TIMEOUT_S = 300
    now = datetime.now(UTC)
    project = ensure_demo_project()
    upload_maps(project)
    sum(store_views(project, now, VIEWS))
    fold_all()
    label_all()
    roll_up_hours(now)
    merge_old_hours(now)
    owner = User.objects.create_user("owner", password="a good password")
    Membership.objects.create(project=project, user=owner, role=Membership.Role.ADMIN)
    client = Client()
    client.force_login(owner)
    view = View.objects.filter(project=project).order_by("view_id")[0].view_id
    trace = RawTrace.objects.filter(project_id=project.pk, view_id=view).order_by("seq")[0].trace_id
    func = Func.objects.filter(project=project, uri__isnull=False).order_by("id")[3].id
    return Site(client, project, str(view), str(trace), func)


def addresses_of(site: Site) -> Iterator[str]:
    """Yields every address of the API and the pages that reads, and exports in every format."""
    for address in (*API_ADDRESSES, *PAGE_ADDRESSES, *ADMIN_ADDRESSES, *PROJECT_QUESTION_ADDRESSES):
        own = address.replace("/projects/shop/", f"/projects/{SLUG}/").replace(
            "=1.0.0&head_release=1.0.0", f"={BASE}&head_release={HEAD}"
        )
        own = own.replace("base_release=1.0.0&head_release=2.0.0", f"base_release={BASE}&head_release={HEAD}")
        own = (
            own.replace(VIEW_ID, site.view)
            .replace(TRACE, site.trace)
            .replace("functions/1/", f"functions/{site.func}/")
        )
        yield own
    slices = ["", f"release={HEAD}", "device=desktop&browser=chrome", f"view={site.view}", "func_over=1:5"]
    for which in slices:
        for kind in (
            "functions",
            "pages",
            "overview",
            "trend",
            "calltree",
            "views",
            "verdict",
            "quality",
            "functions?group_by=package",
        ):
            yield f"{API}{kind}{'&' if '?' in kind else '?'}{which}"
        for format_ in EXPORTERS:
            yield f"{API}profile?format={format_}&{which}"
    for format_ in EXPORTERS:
        yield f"{API}profile?format={format_}&base_release={BASE}&head_release={HEAD}"
    for measure in ("self", "total", "hidden"):
        yield f"{API}compare?base_release={BASE}&head_release={HEAD}&measure={measure}"
    yield from ("/projects/", f"{API}settings", "/search/?find=cart", "/search/results/?find=cart", "/account/")


def ask(client: Client, address: str) -> tuple[int, str, bytes]:
    """Returns the status, the type and the bytes of an answer, without tokens against forged requests."""
    response: Any = client.get(address)  # Any: the test client's answers have no public type of their own
    body = response.getvalue() if isinstance(response, StreamingHttpResponse) else response.content
    return response.status_code, response.get("Content-Type", ""), TOKEN.sub(rb"\1", body)


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
    """Does what people do, and yields what came of it, by name."""
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
        "ingest_apitoken",
        "ingest_ingestkey",
        "ingest_tracereceipt",
        "aggregate_view",
        "aggregate_label",
        "ingest_rawtrace",
        "ingest_auditentry",
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
