"""The debug ids of posted traces are kept once by release and URL, whoever sends them, and within bounds."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pytest_django import Settings

from ingest.models import Receipt
from ingest.storage import script_ids
from ingest.storage.store_pool import STORE_POOL
from profcore.caching import clear_caches
from profcore.kernel import find_kernel
from projects.models import Project
from projects.releases import announce_release
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestServer
from tests.ingest.sdks.envelopes import chunk_envelope, join, make_chunk, make_segment, send, span_envelope

ID = "f997c982-fb7b-472d-9f0a-84d5c8ad7d7c"
OTHER = "2b84db30-a700-458f-b715-a93e2b7c951b"
MAIN = "https://shop.example/main.js"
KERNELS = ["pure", *(["compiled"] if find_kernel().module else [])]


def read(endpoint: IngestServer) -> list[tuple[Any, ...]]:  # Any: values of columns
    return endpoint.rows(
        """SELECT release, uri, debug_id::text FROM ingest_scriptdebugid WHERE project_id = %(project)s
           AND uri_hash = md5(uri)::uuid ORDER BY release, uri, debug_id"""
    )


@pytest.mark.parametrize("kernel", KERNELS)
def test_pages_send_the_texts_of_stacks(endpoint: IngestServer, settings: Settings, kernel: str) -> None:
    settings.KERNEL = kernel
    ids = {f"Error\n    at {MAIN}?v=1:2:30\n    at {MAIN}?v=1:2:99": ID, "x": 1}
    assert endpoint.post(make_envelope(debugIds=ids)).status == 202
    assert endpoint.post(make_envelope("b", release="2.0.0", debugIds={MAIN: ID})).status == 202
    assert endpoint.post(make_envelope("c", release="2.0.0", debugIds={MAIN: OTHER})).status == 202
    assert read(endpoint) == [("1.0.0", MAIN, ID), ("2.0.0", MAIN, OTHER), ("2.0.0", MAIN, ID)]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("ids", [None, 1, "x", [], {}, {"x": {}}, {MAIN: None}, {MAIN: "é"}, [[[[[]]]]]])
def test_no_trace_is_lost_for_odd_ids(endpoint: IngestServer, settings: Settings, kernel: str, ids: object) -> None:
    settings.KERNEL = kernel
    assert endpoint.post(make_envelope(debugIds=ids)).json == {"accepted": 1, "rejected": []}
    assert read(endpoint) == []


def test_the_same_is_asked_of_the_database_once(open_endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[object] = []
    execute = STORE_POOL.execute_with_retry

    def note(statement: str, params: Any) -> None:  # Any: as the pool has them
        statements.append(statement)
        execute(statement, params)

    monkeypatch.setattr(STORE_POOL, "execute_with_retry", note)
    for view in "abc":
        open_endpoint.post(make_envelope(view, debugIds={MAIN: ID}))
    assert statements.count(script_ids.INSERT) == 1
    clear_caches()
    open_endpoint.post(make_envelope("d", debugIds={MAIN: ID}))
    assert statements.count(script_ids.INSERT) == 2
    assert read(open_endpoint) == [("1.0.0", MAIN, ID)]


def test_a_release_and_a_project_have_bounds(endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    few = script_ids.INSERT.replace("< 20000", "< 5").replace("< 2000", "< 3")
    assert few != script_ids.INSERT
    monkeypatch.setattr(script_ids, "INSERT", few)
    announce_release(endpoint.project_id, "real", datetime.now(UTC))
    for release in ("made up 1", "made up 2", "made up 3", "real"):
        for number in range(5):
            name = f"{release} {number}"
            endpoint.post(make_envelope(name, release=release, debugIds={f"https://a.example/{number}.js": ID}))
    kept: dict[str, int] = {}
    for release, _, _ in read(endpoint):
        kept[release] = kept.get(release, 0) + 1
    assert kept == {"made up 1": 3, "made up 2": 2, "real": 3}
    assert Receipt.objects.count() == 20  # no trace is lost for it


def test_sentrys_chunks_name_them_in_their_images(endpoint: IngestServer) -> None:
    images = [
        {"type": "sourcemap", "code_file": MAIN, "debug_id": ID},
        {"type": "sourcemap", "code_file": None, "debug_id": OTHER},
        {"type": "wasm", "debug_file": "x"},
    ]
    send(endpoint, span_envelope(make_segment()))
    send(endpoint, chunk_envelope(make_chunk(debug_meta={"images": images})))
    assert join() == 1
    assert read(endpoint) == [("shop@1", MAIN, ID)]


def test_another_project_has_its_own(endpoint: IngestServer) -> None:
    endpoint.post(make_envelope(debugIds={MAIN: ID}))
    assert (
        IngestServer(Project.objects.create(slug="other").pk, "").rows(
            "SELECT 1 FROM ingest_scriptdebugid WHERE project_id = %(project)s"
        )
        == []
    )
