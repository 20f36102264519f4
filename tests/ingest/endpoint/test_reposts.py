"""A trace's identity is (view, sequence number): posting it again changes nothing and answers 202."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connection, transaction

from profcore.caching import clear_caches
from tests.envelopes import make_envelope, view_id_of
from tests.ingest.endpoint.posting import IngestResponse, IngestServer, ndjson

LIMIT_S = 120.0
ALL = "view_id::text, seq, group_id, received_at, view_started_at, device_class, browser, body_bytes, state"


def everything(endpoint: IngestServer) -> list[Any]:
    return [endpoint.receipts(ALL), endpoint.bodies(), endpoint.pages(), endpoint.refusals()]


def test_the_same_body_again_changes_nothing(endpoint: IngestServer) -> None:
    body = ndjson(make_envelope("a"), make_envelope("b"))
    endpoint.post(body)
    before = everything(endpoint)
    answer = endpoint.post(body)
    assert (answer.status, answer.json) == (202, {"accepted": 2, "rejected": []})
    assert everything(endpoint) == before
    assert len(endpoint.receipts()) == 2


def test_of_two_contents_under_one_identity_the_first_wins(endpoint: IngestServer) -> None:
    first = ndjson(make_envelope("a", "A", page="/cart", release="1"))
    endpoint.post(first)
    before = endpoint.receipts(ALL)
    answer = endpoint.post(make_envelope("a", "B", page="/checkout", release="2", device={"mobile": True}))
    assert (answer.status, answer.json) == (202, {"accepted": 1, "rejected": []})
    assert endpoint.bodies() == [first]
    assert endpoint.receipts(ALL) == before


def test_of_two_in_one_body_the_first_wins(endpoint: IngestServer) -> None:
    first, second, other = make_envelope("a", "A"), make_envelope("a", "B"), make_envelope("a", "C", seq=1)
    answer = endpoint.post(ndjson(first, second, other, second), content_type="application/x-ndjson")
    assert answer.json == {"accepted": 4, "rejected": []}
    assert endpoint.bodies() == [ndjson(first), ndjson(other)]


def test_the_same_view_with_another_sequence_number_is_another_trace(endpoint: IngestServer) -> None:
    for seq in (0, 1, 2):
        endpoint.post(make_envelope("a", seq=seq))
    assert endpoint.receipts() == [(view_id_of("a"), seq) for seq in (0, 1, 2)]


def test_the_same_trace_in_another_spelling_of_its_view_is_the_same(endpoint: IngestServer) -> None:
    endpoint.post(make_envelope("a"))
    endpoint.post(make_envelope("a", viewId=view_id_of("a").upper()))
    assert len(endpoint.receipts()) == 1


def test_a_trace_id_is_the_clients_or_made_from_the_identity(endpoint: IngestServer) -> None:
    named = "0e5f7a54-2f0d-4c0b-8f0e-3b1f2a9d7c11"
    endpoint.post([make_envelope("a", traceId=named), make_envelope("b"), make_envelope("b", seq=1)])
    ids = [
        str(trace_id)
        for (trace_id,) in endpoint.rows("SELECT trace_id FROM ingest_rawtrace WHERE project_id = %(project)s")
    ]
    assert named in ids
    assert len(set(ids)) == 3


def test_a_trace_id_used_twice_hides_no_trace(endpoint: IngestServer) -> None:
    named = "0e5f7a54-2f0d-4c0b-8f0e-3b1f2a9d7c11"
    endpoint.post([make_envelope("a", traceId=named), make_envelope("b", traceId=named)])
    assert len(endpoint.bodies()) == 2


def post_and_close(endpoint: IngestServer, body: bytes) -> IngestResponse:
    try:
        return endpoint.post(body)
    finally:
        connection.close()


def test_reposts_in_many_threads_at_once_leave_one_trace_each(open_endpoint: IngestServer) -> None:
    """Orders differ, as retries of overlapping batches do: rows are written in one order, so none deadlocks."""
    envelopes = [make_envelope(str(n)) for n in range(20)]
    bodies = [ndjson(*envelopes), ndjson(*reversed(envelopes)), ndjson(*envelopes[10:], *envelopes[:10])] * 4
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda body: post_and_close(open_endpoint, body), bodies))
    assert [(answer.status, answer.json["accepted"]) for answer in answers] == [(202, 20)] * 12
    assert len(open_endpoint.receipts()) == len(open_endpoint.bodies()) == 20


def test_a_repost_waits_for_the_first_to_be_durable(open_endpoint: IngestServer) -> None:
    """The first insert is still uncommitted: to answer 202 now would promise what a rollback may undo."""
    open_endpoint.post(make_envelope("other"))  # interns the group
    answers: list[IngestResponse] = []
    body = ndjson(make_envelope("a"))
    repost = threading.Thread(target=lambda: answers.append(post_and_close(open_endpoint, body)))
    with transaction.atomic():
        open_endpoint.post(body)
        repost.start()
        repost.join(0.3)
        assert answers == []
        transaction.set_rollback(True)
    repost.join(LIMIT_S)
    assert answers[0].status == 202
    assert open_endpoint.bodies().count(body) == 1


def test_a_new_page_seen_by_two_posts_at_once_becomes_one_group(open_endpoint: IngestServer) -> None:
    """The second waits for the first at the counter, and takes no id in vain: ids are what the bound counts."""
    answers: list[IngestResponse] = []
    second = threading.Thread(target=lambda: answers.append(post_and_close(open_endpoint, ndjson(make_envelope("b")))))
    with transaction.atomic():
        assert open_endpoint.post(make_envelope("a")).status == 202
        clear_caches()  # the second belongs to another process
        second.start()
        second.join(0.3)
        assert answers == []
    second.join(LIMIT_S)
    assert answers[0].status == 202
    assert open_endpoint.pages() == ["/cart"]
    counters = "SELECT next_id FROM ingest_counter WHERE project_id = %(project)s AND kind = 'group'"
    assert open_endpoint.rows(counters) == [(2,)]
