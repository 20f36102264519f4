"""The snippet's own functions are in no answer: every read of a project whose page views have them is walked."""

import gzip
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from functools import cache
from typing import Any, Final, cast
from urllib.parse import quote

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoDbBlocker

from aggregate.models import Func
from alerts.delivery.gathering import gather_due
from alerts.models import AlertRule, AlertState
from profcore.trace.funcs import SNIPPET_FUNCTIONS, SNIPPET_NAME
from tests.aggregate.jobs.running_jobs import run_jobs
from tests.aggregate.posting import fold_all, post
from tests.envelopes import make_envelope
from tests.hostile.project.addresses import list_addresses, list_patterns
from tests.hostile.project.making import (
    API,
    DAYS,
    NEW,
    OLD,
    PAGE,
    SLUG,
    HostileProject,
    collect_ids,
    evaluate,
    list_funcs,
    make_alerts,
    make_empty_project,
    make_token,
    save,
    start_job,
)
from tests.hostile.project.texts import PAGES
from tests.runner.keeping import keep

pytestmark = pytest.mark.slow(60)

VERSION: Final = "1.0.0"
HOST: Final = "snippet-of-our-own.example"
ADDRESS: Final = f"https://{HOST}/snippet.js"
APP: Final = "https://shop.example/app.js"
# Of functions and texts of the snippet: none of them may be in an answer.
OWN: Final = ("ownOfTheScript", "ownOfTheBundle", "ownBuiltIn", "ownInvoker", HOST, SNIPPET_NAME)
PAGE_WORK: Final = "workOfThePage"
VENDOR: Final = "tags.vendor.example"
VIEWS_PER_DAY: Final = 70
VIEW: Final = "one with marks"
# The trace itself, as it was sent.
VERBATIM: Final = re.compile(r"format=raw|/traces/[^/]+/raw")


def make_trace(*, is_bundled: bool, is_new: bool, extra: int) -> dict[str, Any]:
    """Returns a trace of the page's work, and if it is new, a vendor's and the snippet's.

    This is a script of its own, or in the bundle. It calls built-ins and a function of the page, and one calls it.
    """
    line, column = max(SNIPPET_FUNCTIONS[VERSION])
    own = [{"name": "ownOfTheScript", "resourceId": 2, "line": line, "column": column}]
    own += [{"name": "ownOfTheScript", "resourceId": 2, "line": 1, "column": 1}]
    if is_bundled:
        own = [{"name": SNIPPET_NAME, "resourceId": 0, "line": 1, "column": 9_000}]
        own += [{"name": "ownOfTheBundle", "resourceId": 0, "line": 1, "column": 9_100}]
    frames = [
        {"name": PAGE_WORK, "resourceId": 0, "line": 1, "column": 10},
        {"name": "workOfAVendor", "resourceId": 1, "line": 1, "column": 10},
        *own,
        *({"name": name} for name in ("ownBuiltIn", "Profiler", "stop")),
    ]
    work, vendor, first, second, built_in, profiler, stop = range(7)
    stacks = [
        *({"frameId": frame} for frame in (work, vendor, first)),
        {"frameId": second, "parentId": 2},
        {"frameId": built_in, "parentId": 3},
        {"frameId": profiler, "parentId": 3},
        {"frameId": stop, "parentId": 2},
        {"frameId": first, "parentId": 0},  # the page calls `start`
        {"frameId": built_in, "parentId": 7},
        {"frameId": work, "parentId": 2},  # the snippet calls a function that the page has patched
    ]
    leaves = [*[0] * (5 + extra), *([1, 1, 2, 3, 4, 5, 6, 7, 8, 9] if is_new else [0, 0]), *[None] * 100]
    samples = [{"timestamp": 10.0 * n} | ({} if leaf is None else {"stackId": leaf}) for n, leaf in enumerate(leaves)]
    resources = [APP, f"https://{VENDOR}/t.js", f"{ADDRESS}?key=1"]
    return {"resources": resources, "frames": frames, "stacks": stacks, "samples": samples}


def make_marks(*, is_bundled: bool) -> list[dict[str, Any]]:
    """Returns a long frame with the snippet's script as its longest, an interaction in it, and the largest paint."""
    scripts = [
        {"start": 0, "duration": 60, "url": APP, "function": PAGE_WORK, "invoker": "BUTTON.onclick"},
        {"start": 150, "duration": 400, "url": ADDRESS, "function": "ownOfTheScript", "invoker": "ownInvoker"},
    ]
    return [
        {"type": "longtask", "start": 0, "duration": 700},
        {"type": "long-animation-frame", "start": 0, "duration": 700, "scripts": scripts[: 1 if is_bundled else 2]},
        {
            "type": "interaction",
            "name": "click",
            "start": 0,
            "duration": 640,
            "processingStart": 10,
            "processingEnd": 600,
        },
        {"type": "largest-contentful-paint", "start": 3_000, "duration": 0},
    ]


def make_snippet_project() -> HostileProject:
    """Makes a project of two releases. Only the newer one has the snippet, and so all that it costs is new there."""
    project, client = make_empty_project("https://shop.example")
    make_alerts(client)
    now = timezone.now()
    for day in range(DAYS, -1, -1):
        at = (now - timedelta(days=day)).replace(hour=0, minute=1)
        release = NEW if day < 3 else OLD
        for n in range(VIEWS_PER_DAY):
            marks = make_marks(is_bundled=n % 2 == 0)
            trace = make_trace(is_bundled=n % 2 == 0, is_new=release == NEW, extra=n % 3 + 2 * (release == NEW))
            snippet = {"version": VERSION} | ({} if n % 2 == 0 else {"url": ADDRESS})
            name = VIEW if n == 1 and day == 0 else f"{day} {n}"
            fields: dict[str, Any] = {
                "release": release,
                "page": PAGES[n % 4 // 2],
                "timeOrigin": at.timestamp() * 1_000,
            }
            post(f"KEY-{SLUG}", make_envelope(name, trace=trace, snippet=snippet, marks=marks, **fields))
    fold_all()
    evaluate(project)
    gather_due(now + timedelta(days=2))
    job = start_job(client, "functions", {"release": NEW})
    run_jobs()
    save(client)
    make_token(client)
    return HostileProject(
        project=project, client=client, ids=collect_ids(project, job, VIEW), funcs=list_funcs(project)
    )


@pytest.fixture(scope="module")
def kept_project(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[HostileProject]:
    yield from keep(django_db_blocker, make_snippet_project)


@pytest.fixture
def made(kept_project: HostileProject, db: None) -> HostileProject:
    return kept_project


@cache
def read(client: Client, address: str) -> bytes:
    """Returns what an address answers, unpacked."""
    response = client.get(address)
    if response.streaming:
        content = b"".join(cast("Iterator[bytes]", cast("StreamingHttpResponse", response).streaming_content))
    else:
        content = cast("HttpResponse", response).content
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


@pytest.mark.nightly
def test_no_read_names_what_is_the_snippets(made: HostileProject) -> None:
    """Tables, rankings, callers and callees, trees, exports, comparisons, verdicts, alerts, messages, search, views."""
    named: list[tuple[str, str]] = []
    with_page, with_vendor = set(), set()
    for pattern in list_patterns():
        for address in list_addresses(made, pattern):
            content = read(made.client, address)
            if VERBATIM.search(address):
                continue
            named += [(word, address) for word in OWN if word.encode() in content]
            with_page |= {pattern.name} if PAGE_WORK.encode() in content else set()
            with_vendor |= {pattern.name} if VENDOR.encode() in content else set()
    assert not named, "\n".join(map(str, named[:40]))
    assert len(with_page) > 20, "the walk would have seen a function"
    assert len(with_vendor) > 10, "and a third party"


def test_alerts_tell_of_the_vendor_only(made: HostileProject) -> None:
    alerts = AlertRule.objects.filter(project=made.project, kind=AlertRule.Kind.NEW_THIRD_PARTIES)
    states = AlertState.objects.filter(project=made.project, alert_id__in=alerts.values("id")).exclude(subject="")
    assert set(states.values_list("subject", flat=True)) == {"vendor.example"}


def test_its_time_is_the_profilers(made: HostileProject) -> None:
    answer = json.loads(read(made.client, f"{API}quality?release={quote(NEW)}"))
    bundled = 80 * VIEWS_PER_DAY // 2  # with what it calls in the same script
    others = sum(450 - 10 * (n % 3) for n in range(1, VIEWS_PER_DAY, 2))  # with what is hidden in its long script
    assert answer["whole"]["time_ms"]["profiler"] == pytest.approx(3 * (bundled + others))
    assert set(Func.objects.filter(project=made.project).values_list("name", flat=True)) == {PAGE_WORK, "workOfAVendor"}


def test_the_verdict_blames_page_and_vendor(made: HostileProject) -> None:
    verdict = json.loads(read(made.client, f"{API}verdict"))
    assert verdict["state"] == "slower"
    assert {culprit["name"] for culprit in verdict["culprits"]} == {PAGE_WORK, "workOfAVendor"}


def test_a_search_finds_what_is_the_pages_only(made: HostileProject) -> None:
    for where in (f"{PAGE}search/results/?find=", f"{PAGE}functions/table/?q=", f"{API}functions?q="):
        assert PAGE_WORK.encode() in read(made.client, f"{where}workOfTheP")
        for word in OWN:
            assert word.encode() not in read(made.client, f"{where}{word[:-2]}")
