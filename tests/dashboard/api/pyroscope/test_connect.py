"""The Connect protocol: two encodings, gzip both ways, errors with codes, bounded bodies, tokens only, no writes."""

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from aggregate.models import Cell
from dashboard.api.pyroscope import stacktraces
from dashboard.api.pyroscope.connect import GZIP_FROM_BYTES, MAX_BODY_BYTES
from dashboard.api.pyroscope.messages import make_message, read_message
from dashboard.web.load_shedding import PLACES
from ingest.deadline import DeadlineExceeded
from profcore.times import HOUR
from projects.models import ApiToken, AuditEntry, Project
from projects.tokens import create_token
from tests.builders import MONDAY, make_call_tree, make_cell, make_func, make_project
from tests.dashboard.api.pyroscope.asking import SERVICE, ask, epoch_ms, question
from tests.dashboard.conftest import People

PROTO = "application/proto"
METHODS = (
    "ProfileTypes",
    "LabelNames",
    "LabelValues",
    "Series",
    "GetProfileStats",
    "SelectSeries",
    "SelectMergeStacktraces",
    "SelectMergeProfile",
    "SelectMergeSpanProfile",
    "Nonsense",
)
Headers = dict[str, str]


def send(client: Client, headers: Headers, method: str, body: bytes, kind: str = PROTO, **more: str) -> Any:
    named = {"Content-Type": kind}  # the test client leaves it out of requests without a body
    return client.post(SERVICE + method, body, content_type=kind, headers={**headers, **named, **more})


def flames_request() -> bytes:
    asked = question()
    message = make_message(
        "SelectMergeStacktracesRequest",
        profile_typeID=asked["profileTypeID"],
        label_selector="{}",
        start=asked["start"],
        end=asked["end"],
    )
    return message.SerializeToString()


def test_both_encodings_say_the_same(client: Client, bearer: Headers) -> None:
    in_json = ask(client, bearer, "SelectMergeStacktraces", **question())["flamegraph"]
    response = send(client, bearer, "SelectMergeStacktraces", flames_request())
    assert (response.status_code, response["Content-Type"]) == (200, PROTO)
    flames = read_message("SelectMergeStacktracesResponse", response.content, is_json=False).flamegraph
    assert list(flames.names) == in_json["names"]
    assert [list(map(str, level.values)) for level in flames.levels] == [level["values"] for level in in_json["levels"]]
    assert (str(flames.total), str(flames.max_self)) == (in_json["total"], in_json["maxSelf"])


def test_bodies_may_be_gzip_and_long_answers_are(client: Client, bearer: Headers, shop: Project) -> None:
    cell = make_cell(shop, page="/long", js_us=100)
    make_call_tree(cell, [(-1, make_func(shop, f"work{n}"), 1) for n in range(100)])
    packed = {"Content-Encoding": "gzip", "Accept-Encoding": "gzip"}
    response = send(client, bearer, "SelectMergeStacktraces", gzip.compress(flames_request()), **packed)
    assert (response.status_code, response["Content-Encoding"]) == (200, "gzip")
    assert "Accept-Encoding" in response["Vary"]
    plain = send(client, bearer, "SelectMergeStacktraces", flames_request())
    assert "Content-Encoding" not in plain
    assert gzip.decompress(response.content) == plain.content
    assert len(plain.content) > GZIP_FROM_BYTES
    short = send(client, bearer, "LabelNames", b"", **{"Accept-Encoding": "gzip"})
    assert (short.status_code, "Content-Encoding" in short) == (200, False)


@pytest.mark.parametrize(
    ("body", "kind", "coding", "status", "code"),
    [
        (b"\xff\xff\xff\xff", PROTO, "", 400, "invalid_argument"),
        (b"\x0a\xff\xff\xff\xff\x0f", PROTO, "", 400, "invalid_argument"),
        (b"\x12\x02\xff\xff", PROTO, "", 400, "invalid_argument"),  # no UTF-8
        (b"{", "application/json", "", 400, "invalid_argument"),
        (b"[]", "application/json", "", 400, "invalid_argument"),
        (b'{"start": "x"}', "application/json", "", 400, "invalid_argument"),
        (b'{"labelSelector": "\\ud800"}', "application/json", "", 400, "invalid_argument"),
        (b'{"start": 1e400}', "application/json", "", 400, "invalid_argument"),
        (b"\xff{}", "application/json", "", 400, "invalid_argument"),
        (b"[" * 60_000, "application/json", "", 400, "invalid_argument"),
        (b'{"a":' * 20_000, "application/json", "", 400, "invalid_argument"),
        (b"x" * (MAX_BODY_BYTES + 1), PROTO, "", 413, "resource_exhausted"),
        (gzip.compress(bytes(MAX_BODY_BYTES + 1)), PROTO, "gzip", 413, "resource_exhausted"),
        (gzip.compress(b"")[:-4], PROTO, "gzip", 400, "invalid_argument"),
        (b"plain", PROTO, "gzip", 400, "invalid_argument"),
        (b"", PROTO, "zstd", 404, "unimplemented"),
        (b"", "application/grpc", "", 415, "invalid_argument"),
        (b"", "text/plain", "", 415, "invalid_argument"),
    ],
)
@pytest.mark.parametrize("method", ["SelectMergeStacktraces", "SelectSeries"])
def test_hostile_bodies_are_refused(
    client: Client, bearer: Headers, method: str, body: bytes, kind: str, coding: str, status: int, code: str
) -> None:
    more = {"Content-Encoding": coding} if coding else {}
    response = send(client, bearer, method, body, kind, **more)
    assert (response.status_code, response["Content-Type"]) == (status, "application/json")
    assert response.json()["code"] == code
    assert response.json()["message"]


def test_random_bodies_get_an_error_or_an_answer(client: Client, bearer: Headers) -> None:
    random = Random(33)
    for _ in range(150):
        method = random.choice(METHODS[:8])
        body = random.randbytes(random.randrange(60))
        if random.random() < 0.5:  # almost a message
            known = bytearray(flames_request())
            known[random.randrange(len(known))] = random.randrange(256)
            body = bytes(known)
        assert send(client, bearer, method, body).status_code in (200, 400, 404), (method, body)


def test_who_may_ask(client: Client, bearer: Headers, people: People) -> None:
    _, elsewhere = create_token(project=make_project("other"))
    _, builds = create_token(project=Project.objects.get(slug="shop"), scopes=[ApiToken.Scope.SOURCEMAPS])
    client.force_login(people.owner)  # a session is not enough: other sites could send a form
    for method in METHODS:
        assert ask(client, {}, method, 401)["code"] == "unauthenticated"
        assert ask(client, {"Authorization": "Bearer ff_00000000_no"}, method, 401)["code"] == "unauthenticated"
        assert ask(client, {"Authorization": f"Bearer {elsewhere}"}, method, 404)["code"] == "not_found"
        assert ask(client, {"Authorization": f"Bearer {builds}"}, method, 403)["code"] == "permission_denied"
        response = client.get(SERVICE + method, headers=bearer)
        assert (response.status_code, response.json()["code"]) == (405, "unimplemented")


def test_unknown_methods_are_unimplemented(client: Client, bearer: Headers) -> None:
    for method in METHODS[8:]:
        assert ask(client, bearer, method, 404) == {
            "code": "unimplemented",
            "message": f"Fieldflame does not answer '{method}'.",
        }


@contextmanager
def no_writes() -> Iterator[None]:
    before = AuditEntry.objects.count()
    yield
    assert AuditEntry.objects.count() == before


def test_reads_change_nothing(
    client: Client, bearer: Headers, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    ask(client, bearer, "ProfileTypes")  # notes the use of the token, once in a while
    asked = question(step=3600, groupBy=["page"])
    for method in METHODS[:8]:
        message = asked if method.startswith("Select") else {"name": "page"} if method == "LabelValues" else {}
        if method == "SelectMergeProfile":
            continue  # has no JSON
        with no_writes(), django_assert_max_num_queries(12) as context:
            ask(client, bearer, method, **message)
        statements = [query["sql"] for query in context.captured_queries]
        assert [sql for sql in statements if sql.lstrip().split()[0].upper() in ("INSERT", "UPDATE", "DELETE")] == []


def test_a_server_that_is_busy_or_slow_says_so(
    client: Client, bearer: Headers, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.READ_HEAVY_AT_ONCE, settings.READ_HEAVY_WAIT_S = 1, 0.01
    with PLACES.take("shop", places=1, wait_s=1):
        response = client.post(
            SERVICE + "SelectMergeStacktraces", question(), content_type="application/json", headers=bearer
        )
        assert (response.status_code, response["Retry-After"], response.json()["code"]) == (503, "5", "unavailable")
        ask(client, bearer, "LabelNames")  # is not heavy

    def fail(*_: object, **__: object) -> None:
        raise OperationalError from DeadlineExceeded()

    monkeypatch.setattr(stacktraces, "select_slice_export", fail)
    answer = ask(client, bearer, "SelectMergeStacktraces", 503, **question())
    assert answer["code"] == "unavailable"
    assert "did not answer within" in answer["message"]


def test_stats_have_the_first_and_the_last_bucket(client: Client, bearer: Headers, shop: Project) -> None:
    make_cell(shop, starts_at=MONDAY + 2 * HOUR)
    first, last = epoch_ms(MONDAY), epoch_ms(MONDAY + 2 * HOUR)
    stats = {"dataIngested": True, "oldestProfileTime": str(first), "newestProfileTime": str(last)}
    assert ask(client, bearer, "GetProfileStats") == stats
    Cell.objects.all().delete()
    assert ask(client, bearer, "GetProfileStats") == {}
