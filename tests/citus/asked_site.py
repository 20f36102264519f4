"""What is asked of plain PostgreSQL and of Citus: the demo, and the addresses of all that one can read of it."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from django.contrib.auth.models import User
from django.http import StreamingHttpResponse
from django.test import Client

from aggregate.fold.rollups import roll_up_hours
from aggregate.maintenance.merging import merge_old_hours
from aggregate.models import Func, PageView
from aggregate.sourcemaps.labelling import label_all
from ingest.models import RawTrace
from ops.demo.loading import ensure_demo_project, store_views, upload_maps
from ops.demo.story import RELEASES, SLUG
from profcore.formats.registry import EXPORTERS
from projects.models import Membership, Project
from tests.aggregate.posting import fold_all
from tests.dashboard.conftest import VIEW_ID
from tests.dashboard.web.addresses import (
    ADMIN_ADDRESSES,
    API_ADDRESSES,
    PAGE_ADDRESSES,
    PROJECT_QUESTION_ADDRESSES,
    TRACE,
)

VIEWS: Final = int(os.environ.get("FIELDFLAME_TEST_VIEWS", "150"))  # more, for `measure_reads`
BASE, HEAD = RELEASES[1:]
API: Final = f"/api/v1/projects/{SLUG}/"
PAGES: Final = f"/projects/{SLUG}/"
SIZES: Final = f"{PAGES}settings/retention/"  # with bytes of disk: the coordinator does not know those of the workers
# Each form has another token against forged requests.
TOKEN: Final = re.compile(rb'(csrf[a-z]*"? (?:value|content)="|data-csrf[a-z-]*=")[^"]+')


@dataclass(frozen=True)
class Site:
    """What addresses name: a person's session, and rows of the demo."""

    client: Client
    project: Project
    view: str
    trace: str
    func: int


def make_site() -> Site:
    """Makes the demo, folded, with labels, in days and in the roll-up; an owner is logged in."""
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
    view = PageView.objects.filter(project=project).order_by("view_id")[0].view_id
    trace = RawTrace.objects.filter(project_id=project.pk, view_id=view).order_by("seq")[0].trace_id
    func = Func.objects.filter(project=project, uri__isnull=False).order_by("id")[3].id
    return Site(client, project, str(view), str(trace), func)


def addresses_of(site: Site) -> Iterator[str]:
    """Yields every address of the API and the pages that reads, and exports in every format."""
    for address in (*API_ADDRESSES, *PAGE_ADDRESSES, *ADMIN_ADDRESSES, *PROJECT_QUESTION_ADDRESSES):
        rewritten = address.replace("/projects/shop/", f"/projects/{SLUG}/").replace(
            "=1.0.0&head_release=1.0.0", f"={BASE}&head_release={HEAD}"
        )
        rewritten = rewritten.replace(
            "base_release=1.0.0&head_release=2.0.0", f"base_release={BASE}&head_release={HEAD}"
        )
        rewritten = (
            rewritten.replace(VIEW_ID, site.view)
            .replace(TRACE, site.trace)
            .replace("functions/1/", f"functions/{site.func}/")
        )
        yield rewritten
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
            "hangs",
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
