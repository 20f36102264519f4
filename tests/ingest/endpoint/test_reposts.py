"""A trace's identity is (view, sequence number): posting it again changes nothing and answers 202."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import connection, transaction

from ingest.storage.groups import forget_groups
from tests.envelopes import make_envelope, view_id_of
from tests.ingest.endpoint.posting import Answer, Door, ndjson

LIMIT_S = 120.0
ALL = "view_id::text, seq, group_id, received_at, view_started_at, device_class, browser, body_bytes, state"


def everything(door: Door) -> list[Any]:
    return [door.receipts(ALL), door.bodies(), door.pages(), door.refusals()]


def test_the_same_body_again_changes_nothing(door: Door) -> None:
    body = ndjson(make_envelope("a"), make_envelope("b"))
    door.post(body)
    before = everything(door)
    answer = door.post(body)
    assert (answer.status, answer.json) == (202, {"accepted": 2, "rejected": []})
    assert everything(door) == before
    assert len(door.receipts()) == 2


def test_of_two_contents_under_one_identity_the_first_wins(door: Door) -> None:
    first = ndjson(make_envelope("a", "A", page="/cart", release="1"))
    door.post(first)
    before = door.receipts(ALL)
    answer = door.post(make_envelope("a", "B", page="/checkout", release="2", device={"mobile": True}))
    assert (answer.status, answer.json) == (202, {"accepted": 1, "rejected": []})
    assert door.bodies() == [first]
    assert door.receipts(ALL) == before


def test_of_two_in_one_body_the_first_wins(door: Door) -> None:
    first, second, other = make_envelope("a", "A"), make_envelope("a", "B"), make_envelope("a", "C", seq=1)
    answer = door.post(ndjson(first, second, other, second), content_type="application/x-ndjson")
    assert answer.json == {"accepted": 4, "rejected": []}
    assert door.bodies() == [ndjson(first), ndjson(other)]


def test_the_same_view_with_another_sequence_number_is_another_trace(door: Door) -> None:
    for seq in (0, 1, 2):
        door.post(make_envelope("a", seq=seq))
    assert door.receipts() == [(view_id_of("a"), seq) for seq in (0, 1, 2)]


def test_the_same_trace_in_another_spelling_of_its_view_is_the_same(door: Door) -> None:
    door.post(make_envelope("a"))
    door.post(make_envelope("a", viewId=view_id_of("a").upper()))
    assert len(door.receipts()) == 1


def test_a_trace_id_is_the_clients_or_made_from_the_identity(door: Door) -> None:
    named = "0e5f7a54-2f0d-4c0b-8f0e-3b1f2a9d7c11"
    door.post([make_envelope("a", traceId=named), make_envelope("b"), make_envelope("b", seq=1)])
    ids = [
        str(trace_id)
        for (trace_id,) in door.rows("SELECT trace_id FROM ingest_rawtrace WHERE project_id = %(project)s")
    ]
    assert named in ids
    assert len(set(ids)) == 3


def test_a_trace_id_used_twice_hides_no_trace(door: Door) -> None:
    named = "0e5f7a54-2f0d-4c0b-8f0e-3b1f2a9d7c11"
    door.post([make_envelope("a", traceId=named), make_envelope("b", traceId=named)])
    assert len(door.bodies()) == 2


def post_and_close(door: Door, body: bytes) -> Answer:
    try:
        return door.post(body)
    finally:
        connection.close()


def test_reposts_in_many_threads_at_once_leave_one_trace_each(open_door: Door) -> None:
    """Orders differ, as retries of overlapping batches do: rows are written in one order, so none deadlocks."""
    envelopes = [make_envelope(str(n)) for n in range(20)]
    bodies = [ndjson(*envelopes), ndjson(*reversed(envelopes)), ndjson(*envelopes[10:], *envelopes[:10])] * 4
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda body: post_and_close(open_door, body), bodies))
    assert [(answer.status, answer.json["accepted"]) for answer in answers] == [(202, 20)] * 12
    assert len(open_door.receipts()) == len(open_door.bodies()) == 20


def test_a_repost_waits_for_the_first_to_be_durable(open_door: Door) -> None:
    """The first insert is still uncommitted: to answer 202 now would promise what a rollback may undo."""
    open_door.post(make_envelope("other"))  # interns the group
    answers: list[Answer] = []
    body = ndjson(make_envelope("a"))
    repost = threading.Thread(target=lambda: answers.append(post_and_close(open_door, body)))
    with transaction.atomic():
        open_door.post(body)
        repost.start()
        repost.join(0.3)
        assert answers == []
        transaction.set_rollback(True)
    repost.join(LIMIT_S)
    assert answers[0].status == 202
    assert open_door.bodies().count(body) == 1


def test_a_new_page_seen_by_two_posts_at_once_becomes_one_group(open_door: Door) -> None:
    """The second waits for the first at the counter, and takes no id in vain: ids are what the bound counts."""
    answers: list[Answer] = []
    second = threading.Thread(target=lambda: answers.append(post_and_close(open_door, ndjson(make_envelope("b")))))
    with transaction.atomic():
        assert open_door.post(make_envelope("a")).status == 202
        forget_groups()  # the second belongs to another process
        second.start()
        second.join(0.3)
        assert answers == []
    second.join(LIMIT_S)
    assert answers[0].status == 202
    assert open_door.pages() == ["/cart"]
    counters = "SELECT next_id FROM ingest_counter WHERE project_id = %(project)s AND kind = 'group'"
    assert open_door.rows(counters) == [(2,)]
