"""Folding goes by turns: a backlog leaves time for other tasks, and is folded nevertheless."""

import pytest
from pytest_django import Settings

from aggregate import tasks
from projects.creation import create_project
from tests.aggregate.posting import post, rows
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db(transaction=True)
FOLDED = "SELECT count(*) FROM ingest_tracereceipt WHERE state = 1"


@pytest.fixture
def wakes(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> list[None]:
    """The notifications that are sent; a batch has one trace, and four of them wait."""
    settings.FOLD_BATCH_TRACES = 1
    create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", *(make_envelope(f"v{n}") for n in range(4)))
    sent: list[None] = []
    monkeypatch.setattr(tasks, "notify_worker", lambda: sent.append(None))
    return sent


def test_a_turn_that_is_over_wakes_a_worker_and_ends(wakes: list[None], settings: Settings) -> None:
    settings.FOLD_TURN_S = 0
    for turn in range(1, 5):
        tasks.fold_pending()
        assert rows(FOLDED) == [(turn,)]
        assert len(wakes) == turn
    tasks.fold_pending()
    assert len(wakes) == 4


def test_within_a_turn_all_is_folded(wakes: list[None]) -> None:
    tasks.fold_pending()
    assert rows(FOLDED) == [(4,)]
