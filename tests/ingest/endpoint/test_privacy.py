"""Query strings, fragments, credentials and extension ids reach no table but the raw body."""

import json
from typing import Any

import pytest
from django.db import connection

from aggregate.fold.pending import BatchOutcome, fold_pending_batch
from tests.envelopes import make_envelope, make_trace
from tests.ingest.endpoint.posting import IngestServer

MARK = "SECRET77"
EXTENSION = "abcdefghijklmnopabcdefghijklmnop"


def make_telling_envelope(view: str, **fields: Any) -> dict[str, Any]:  # Any: JSON
    """Returns an envelope that has the mark wherever a browser may put something private."""
    trace = make_trace("A B C D E F\nA B\nC")
    trace["resources"] = [
        f"https://user:{MARK}@shop.example/app.js?token={MARK}#{MARK}",
        f"https://shop.example/cart?session={MARK}#{MARK}",
        f"chrome-extension://{EXTENSION}/content.js?{MARK}",
        f"data:text/javascript,{MARK}",
        f"blob:https://shop.example/{MARK}",
        f"moz-extension://{EXTENSION}/{MARK}.js",
    ]
    for index, frame in enumerate(trace["frames"]):
        frame["resourceId"] = index
    return make_envelope(
        view,
        trace=trace,
        reason=MARK,
        userAgent=f"Mozilla/5.0 {MARK}",
        tags={MARK: MARK},
        marks=[{"type": MARK, "start": 1, "url": MARK}],
        referrer=MARK,
        **fields,
    )


PAGES: list[dict[str, Any]] = [
    {"page": f"/cart?token={MARK}#{MARK}"},
    {"page": f"https://user:{MARK}@shop.example/cart?{MARK}"},
    {"page": f"//user:{MARK}@shop.example/cart"},
    {"page": f"chrome-extension://{EXTENSION}/popup.html?{MARK}"},
    {"page": f"blob:chrome-extension://{EXTENSION}/{MARK}"},
    {"page": None, "url": f"https://user:{MARK}@shop.example/cart?token={MARK}#{MARK}"},
    {"page": None, "url": f"https://shop.example/cart;jsessionid={MARK}?{MARK}"},
    {"page": None, "url": f"chrome-extension://{EXTENSION}/popup.html"},
    {"page": None, "url": f"data:text/html,{MARK}"},
    {"page": None, "url": f"blob:https://shop.example/{MARK}"},
]


def find_in_tables(word: str) -> set[str]:
    """Returns every table but the raw traces' that holds a word, in text, JSON, arrays or bytes."""
    with connection.cursor() as cursor:
        tables = [
            table
            for table in connection.introspection.table_names(cursor)
            if not table.startswith(("ingest_rawtrace", "django_", "auth_"))
        ]
        holders = set()
        for table in tables:
            # A row's text has bytes as hex digits.
            cursor.execute(
                f'SELECT count(*) FROM "{table}" t WHERE t::text ILIKE %s OR t::text ILIKE %s',
                [f"%{word}%", f"%{word.encode().hex()}%"],
            )
            row = cursor.fetchone()
            if row is not None and row[0]:
                holders.add(table)
    return holders


def test_the_search_finds_a_word_wherever_it_is(endpoint: IngestServer) -> None:
    endpoint.post(make_envelope("a", page=f"/{MARK}"))
    assert find_in_tables(MARK) == {"ingest_group"}


@pytest.mark.parametrize("fields", PAGES, ids=[str(number) for number in range(len(PAGES))])
def test_what_is_private_reaches_no_table_but_the_raw_body(endpoint: IngestServer, fields: dict[str, Any]) -> None:
    answer = endpoint.post(make_telling_envelope("a", **fields))
    assert answer.status == 202
    assert fold_pending_batch() is not BatchOutcome.NOTHING_PENDING
    assert endpoint.receipts("state, reason") == [(1, None)]
    assert find_in_tables(MARK) == set()
    assert find_in_tables(EXTENSION) == set()
    assert MARK.encode() in endpoint.bodies()[0]


def test_what_was_refused_leaves_nothing_private(endpoint: IngestServer, caplog: pytest.LogCaptureFixture) -> None:
    for body in (
        make_telling_envelope("a", page=f"/?{MARK}", seq=-1),
        make_telling_envelope("a", page=f"/?{MARK}", release=MARK * 100),
        json.dumps(make_telling_envelope("a", page="/")).encode()[:-30],
    ):
        answer = endpoint.post(body)
        assert answer.status == 400
        assert MARK not in answer.content.decode()
    assert find_in_tables(MARK) == set()
    assert MARK not in caplog.text


def test_logs_name_neither_keys_nor_urls(endpoint: IngestServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger="ingest"), caplog.at_level("DEBUG", logger="django.request"):
        endpoint.post(make_telling_envelope("a", page="/"), key=MARK)
        endpoint.post(make_telling_envelope("a", page="/"), origin=f"https://{MARK}")
        endpoint.post(b"{" + MARK.encode(), user_agent=MARK)
    assert MARK not in caplog.text
