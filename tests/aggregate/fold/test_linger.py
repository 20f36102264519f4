"""Under steady traffic, traces gather between small batches; a lone trace never waits."""

import pytest
from pytest_django import Settings

from aggregate import tasks
from aggregate.fold.linger import LINGER, Linger
from aggregate.fold.pending import BatchOutcome, fold_pending_batch
from projects.creation import create_project
from tests.aggregate.posting import post, rows
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db
FOLDED = "SELECT count(*) FROM ingest_tracereceipt WHERE state = 1"


@pytest.fixture(autouse=True)
def long_lingering(settings: Settings) -> None:
    """Lets projects linger as long as a test."""
    settings.FOLD_LINGER_MS = 3_600_000
    for slug in ("shop", "other"):
        create_project(slug=slug, key=f"{slug}-key", origins=["*"])


def test_a_project_lingers_after_a_small_batch_and_others_do_not() -> None:
    linger = Linger()
    post("shop-key", make_envelope("a"))
    assert fold_pending_batch(linger) is BatchOutcome.FOLDED
    post("shop-key", make_envelope("b"))
    assert fold_pending_batch(linger) is BatchOutcome.NOTHING_PENDING
    post("other-key", make_envelope("c"))
    assert fold_pending_batch(linger) is BatchOutcome.FOLDED
    assert rows(FOLDED) == [(2,)]
    linger.clear()
    assert fold_pending_batch(linger) is BatchOutcome.FOLDED
    assert rows(FOLDED) == [(3,)]


def test_a_full_batch_is_followed_by_the_next_one_at_once(settings: Settings) -> None:
    linger = Linger()
    settings.FOLD_BATCH_TRACES = 2
    post("shop-key", *(make_envelope(f"v{n}") for n in range(5)))
    assert [fold_pending_batch(linger) for _ in range(3)] == [BatchOutcome.FOLDED] * 3
    assert rows(FOLDED) == [(5,)]
    assert len(linger.projects()) == 1  # the last batch was small
    linger.clear()
    settings.FOLD_BATCH_BYTES = 1
    post("shop-key", make_envelope("w"))
    fold_pending_batch(linger)
    assert linger.projects() == []


def test_a_turn_ends_at_once_if_only_folded_traces_are_left() -> None:
    post("shop-key", make_envelope("a"))
    tasks.fold_pending()  # would take an hour
    assert rows(FOLDED) == [(1,)]
    assert len(LINGER.projects()) == 1


def test_a_turn_waits_until_a_project_has_lingered_and_folds_what_came_meanwhile(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def arrive(seconds: float) -> None:
        assert 3_000 < seconds <= 3_600
        post("shop-key", make_envelope("c"))
        LINGER.clear()

    post("shop-key", make_envelope("a"))
    tasks.fold_pending()
    post("shop-key", make_envelope("b"))
    monkeypatch.setattr("aggregate.fold.linger.sleep", arrive)
    tasks.fold_pending()
    assert rows(FOLDED) == [(3,)]


def test_without_the_setting_nothing_lingers(settings: Settings) -> None:
    settings.FOLD_LINGER_MS = 0
    for view in "abc":
        post("shop-key", make_envelope(view))
        assert fold_pending_batch(LINGER) is BatchOutcome.FOLDED
