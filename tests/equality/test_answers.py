"""Answers stay byte-equal across a refactoring, except for intended changes.

For the time of the renaming only. FIELDFLAME_ANSWERS names a file: the first run writes the answers into it, later runs
compare. Both must be on one day (UTC), since the demo's page views have dates of this month.
"""

import gzip
import json
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from aggregate.fold.interning import intern_funcs
from aggregate.models import Func, HotspotPiece, PageView
from aggregate.sourcemaps.labelling import label_all
from alerts.models import AlertRule, Channel
from dashboard.api.core.openapi import write_document
from dashboard.api.urls import ENDPOINTS
from ingest.models import RawTrace, Receipt
from ops.demo.loading import date_groups, ensure_demo_project, store_views, upload_maps
from profcore.trace.funcs import FuncKey
from projects.models import IngestKey, Membership, Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all
from tests.equality.addresses import API, API_ASKED, API_EXPORTS, OTHERS, PAGES, PAGES_ASKED

FILE: Final = os.environ.get("FIELDFLAME_ANSWERS", "")
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.slow(60),
    pytest.mark.skipif(not FILE, reason="FIELDFLAME_ANSWERS is not set"),
]
VIEWS: Final = 300
# What differs from run to run, or with the minute.
VOLATILE: Final = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)?"), "TIME"),
    (re.compile(r'name="csrfmiddlewaretoken" value="\w+"'), "CSRF"),
    (re.compile(r"ff_\w{8}"), "TOKEN"),
    (re.compile(r'("token": ?"|tokens/)[0-9a-f]{8}'), "TOKEN"),
    (re.compile(r"<code>[0-9a-f]{12}</code>"), "NETWORK"),
    (re.compile(r"[\d.,]+ [GM]B"), "SIZE"),
    (re.compile(r"<bdi>[0-9a-f]{8}</bdi>"), "TOKEN"),
    (re.compile(r'"network": ?"[0-9a-f]+"'), "NETWORK"),
    (re.compile(r'"(?:id|job|prefix)": ?"[0-9a-f]{8}(?:-[0-9a-f-]{27})?"'), "ID"),
    (re.compile(r"\bnonce=\S+"), "NONCE"),
)
# Intended changes, applied to what was recorded: (pattern, replacement).
INTENDED: Final[tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...]] = (
    (r'\A\{\n    "openapi"(?s:.*)', lambda _: plain(write_document(ENDPOINTS))),
    (r"/projects/demo/page/", "/projects/demo/functions/"),
    (r"/projects/demo/tree/", "/projects/demo/flame-graph/"),
    (r"projects%2Fdemo%2Fpage%2F", "projects%2Fdemo%2Ffunctions%2F"),
)


def plain(content: bytes) -> str:
    text = (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("utf-8", "surrogateescape")
    for pattern, word in VOLATILE:
        text = pattern.sub(word, text)
    return text


def fill() -> tuple[User, dict[str, Any]]:
    """Loads the demo as `./run` does, in this process, and returns its administrator and the ids for addresses."""
    now = datetime.now(UTC).replace(hour=0, minute=30, second=0, microsecond=0)
    project = ensure_demo_project()
    upload_maps(project)
    sum(store_views(project, now, VIEWS))
    keep_func_ids(project)
    fold_all()
    date_groups(project)
    label_all()
    admin = User.objects.create_superuser("admin", password="correct horse battery")
    Membership.objects.create(project=project, user=admin, role=Membership.Role.ADMIN)
    other = Membership.objects.create(project=project, user=User.objects.create_user("member"))
    token, _ = create_token(project=project)
    client = Client()
    client.force_login(admin)
    make_alert(client)
    view = PageView.objects.order_by("-js_us", "view_id")[0]
    piece = max(HotspotPiece.objects.order_by("cell_id"), key=lambda piece: sum(piece.self_us))
    receipt = Receipt.objects.filter(view_id=view.view_id).order_by("seq")[0]
    return admin, {
        "func": max(zip(piece.self_us, piece.func_ids, strict=True))[1],
        "view": view.view_id,
        "trace": f"{view.view_id}.{receipt.seq}",
        "trace_id": RawTrace.objects.get(view_id=view.view_id, seq=receipt.seq).trace_id,
        "key": IngestKey.objects.get().pk,
        "member": other.pk,
        "token": token.prefix,
        "alert": AlertRule.objects.get(slug="checkout").id,
        "channel": Channel.objects.get(slug="team").id,
    }


def keep_func_ids(project: Project) -> None:
    """Gives functions the ids of the runs before: they depend on the order of folding."""
    path = Path(FILE + ".funcs")
    if path.exists():
        intern_funcs(project.pk, [FuncKey(*key) for key in json.loads(path.read_text())], is_bounded=False)
        return
    fold_all()
    keys = Func.objects.order_by("uri", "line", "column", "name").values_list("uri", "line", "column", "name")
    path.write_text(json.dumps(list(keys)))
    pytest.skip("the functions are known now: run it again")


def make_alert(client: Client) -> None:
    """Makes a channel and an alert rule by the API, which tells no secret of it afterwards."""
    budget = {
        "kind": "budget",
        "name": "Checkout",
        "question": {"measure": "time", "page": "/checkout", "limit": 100},
        "is_on": True,
    }
    channel = {"kind": "webhook", "name": "Team", "addresses": ["https://hooks.example/x"]}
    for address, body in ((API + "alerts/checkout", budget), (API + "channels/team", channel)):
        answer = client.put(address, json.dumps(body), content_type="application/json")
        assert answer.status_code == 201, answer.content


def ask_all() -> dict[str, list[Any]]:
    admin, ids = fill()
    client = Client(raise_request_exception=True)
    client.force_login(admin)
    answers = {}
    for address in (
        *(API + address for address in (*API_ASKED, *API_EXPORTS)),
        *(PAGES + address for address in PAGES_ASKED),
        *OTHERS,
    ):
        answer = client.get(address.format(**ids))
        content = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
        answers[address] = [answer.status_code, answer.headers.get("Content-Type", ""), plain(content)]
    return answers


def test_answers_are_what_they_were(settings: Settings) -> None:
    answers, path = ask_all(), Path(FILE)
    if not path.exists():
        path.write_bytes(gzip.compress(json.dumps(answers).encode()))
        return
    faults = []
    for address, (status, kind, text) in json.loads(gzip.decompress(path.read_bytes())).items():
        for pattern, replacement in INTENDED:
            address, text = (re.sub(pattern, replacement, value) for value in (address, text))  # noqa: PLW2901
        expected = answers.get(address, [0, "", ""])
        if expected != [status, kind, text]:
            at = next((n for n, (a, b) in enumerate(zip(text, expected[2], strict=False)) if a != b), 0)
            before, after = text[max(0, at - 60) : at + 60], expected[2][max(0, at - 60) : at + 60]
            faults.append(f"{address}: {status} {kind} {expected[:2]}\n  - {before!r}\n  + {after!r}")
    assert not faults, f"{len(faults)} of {len(answers)} differ\n" + "\n".join(faults)
