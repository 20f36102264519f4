"""What a view's row keeps of its first receipt: its sample rate, its traits, its session."""

import pytest

from tests.aggregate.posting import fold_all, post, rows
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db

CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36"
KEPT = "traces, sample_rate, traits, session"


def receipts() -> list[tuple[object, ...]]:
    return rows("SELECT sample_rate, traits, session FROM ingest_tracereceipt ORDER BY seq")


@pytest.mark.parametrize("is_folded_between", [True, False])
def test_the_first_receipt_decides_when_the_view_grows(key: str, is_folded_between: bool) -> None:
    post(key, make_envelope("a", userAgent=CHROME, session="s1", sampleRate=0.5))
    if is_folded_between:
        fold_all()
    post(key, make_envelope("a", seq=1, sampleInterval=16, session="s2"))
    fold_all()
    first, second = receipts()
    assert (first[:2], second[:2]) == ((0.5, 131), (None, 1_024))
    assert None not in (first[2], second[2])
    assert rows(f"SELECT {KEPT} FROM aggregate_pageview") == [(2, *first)]


def test_views_of_one_session_have_the_same_and_others_do_not(key: str) -> None:
    post(key, *(make_envelope(name, session=session) for name, session in (("a", "x"), ("b", "x"), ("c", "y"))))
    post(key, make_envelope("d"))
    fold_all()
    sessions = [session for (session,) in rows("SELECT session FROM aggregate_pageview ORDER BY session")]
    assert len(set(sessions)) == 3
    assert sessions.count(None) == 1
