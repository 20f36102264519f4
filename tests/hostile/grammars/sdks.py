"""What Sentry's SDK posts, damaged: chunks, spans and transactions in envelopes; and chunks joined with their pages."""

import json
from collections.abc import Sequence
from typing import Final

from hypothesis import strategies as st

from ingest.joining import expire_waiting
from tests.hostile.cases import RequestCase
from tests.hostile.edits import EDITS, Edit, edit_json, pick
from tests.hostile.lab import Lab, taken_back
from tests.hostile.measuring import check_cpu
from tests.hostile.read_parts import ask_within_limits
from tests.ingest.sdks.envelopes import join, make_child, make_chunk, make_legacy, make_segment, make_transaction

CHILDREN: Final = [make_child("ui.long_task", 1, 1.1), make_child("ui.webvital.lcp", 0, 1, number=101)]
SPANS: Final = {"version": 2, "items": [make_segment(), *CHILDREN, make_segment(1.1, number=2)]}
ITEMS: Final[tuple[tuple[bytes, bytes], ...]] = tuple(
    (kind, json.dumps(payload).encode())
    for kind, payload in (
        (b"profile_chunk", make_chunk()),
        (b"profile_chunk", make_chunk(1.5, number=2)),
        (b"span", SPANS),
        (b"transaction", make_transaction()),
        (b"profile", make_legacy()),
        (b"session", {}),
    )
)
ITEM_HEADERS: Final = pick(
    [*(b'{"type":"%s"}',) * 6, b'{"type":"%s","length":99999}', b'{"type":"%s","length":2}', b'{"type":["%s"]}', b"%s"]
)
HEADERS: Final = pick([b"{}", b'{"event_id":"e"}', b'{"dsn":"http://KEY@["}', b'{"event_id":7}', b"[]", b""])
ADDRESSES: Final = pick(["/sentry/tunnel/", "/sentry/api/7/envelope/", "/sentry/" + "api/" * 500 + "1/envelope/"])
QUERIES: Final = pick([b"sentry_key=KEY-shop", b"sentry_key=KEY-shop", b"sentry_key=x4b", b"sentry_key=%ff", b""])


def write_envelope(
    header: bytes, items: Sequence[tuple[int, bytes, Sequence[Edit]]], path: str, query: bytes, times: int
) -> RequestCase:
    """Returns the post of an envelope whose items were edited, each written as often as asked."""
    lines = [header]
    for number, item_header, edits in items:
        kind, payload = ITEMS[number]
        lines += [item_header.replace(b"%s", kind), edit_json(payload, edits)] * times
    return RequestCase("POST", path.encode(), query=query, who="nobody", body=b"\n".join(lines), media="text/plain")


ENVELOPES: Final = st.builds(
    write_envelope,
    HEADERS,
    st.lists(st.tuples(st.integers(0, len(ITEMS) - 1), ITEM_HEADERS, EDITS), min_size=1, max_size=4),
    ADDRESSES,
    QUERIES,
    pick([1, 1, 1, 1, 20, 200]),
)


def check_sdk_envelope(lab: Lab, case: RequestCase) -> None:
    """Posts an envelope, joins what it left, and leaves nothing behind."""
    with taken_back():
        ask_within_limits(lab, case)
        check_cpu(lambda: join(100))
        expire_waiting()
