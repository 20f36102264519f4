"""The fold by the compiled kernel, by its pure twin, and by both in turns: the same rows, through the real database."""

import json
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from aggregate.fold import batch
from aggregate.fold.interning import CellKey
from aggregate.fold.pending import BatchOutcome, fold_pending_batch
from aggregate.maintenance.erasing import erase_view
from profcore.kernel import find_kernel
from profcore.sums.batch_sums import BatchSums, CompiledSums
from profcore.trace.funcs import FuncTable
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.expected_sums import assert_stored, enter
from tests.aggregate.fresh_projects import fresh_project, void_claims
from tests.aggregate.generated_traffic import AGENTS, DEVICES, Json, traffic
from tests.aggregate.posting import fold_all, post, rows
from tests.aggregate.stored_state import assert_rollup_is_exact
from tests.envelopes import TIME_ORIGIN_MS, make_envelope, view_id_of
from tests.properties import bounded

pytestmark = [pytest.mark.django_db, pytest.mark.slow(20)]
needs_kernel = pytest.mark.skipif(find_kernel().module is None, reason=find_kernel().why_pure)
TWINS = [pytest.param("pure"), pytest.param("compiled", marks=needs_kernel)]


@pytest.mark.parametrize("twin", [*TWINS, pytest.param("in turns", marks=needs_kernel)])
@bounded(15)
@given(traffic(), st.integers(1, 4))
def test_each_twin_stores_the_sums_of_its_traffic(twin: str, envelopes: list[Json], size: int) -> None:
    """Views grow from fold to fold: with the twins in turns, each adds to what the other has stored."""
    with fresh_project() as project:
        for start in range(0, len(envelopes), size):
            post("shop", *envelopes[start : start + size])
            choice = twin if twin != "in turns" else ("pure", "compiled")[start // size % 2]
            with override_settings(KERNEL=choice, FOLD_BATCH_TRACES=3):
                fold_all()
        assert_stored(project.pk, [enter(envelope) for envelope in envelopes])
        assert_rollup_is_exact()


def envelope_of(view: str, columns: str, seq: int = 0) -> dict[str, Any]:  # Any: the wire's JSON
    """Returns an envelope with the facts that `enter` reads."""
    fields = {"device": DEVICES[0], "userAgent": AGENTS[0], "reason": "timer", "viewStart": TIME_ORIGIN_MS}
    return make_envelope(view, columns, seq=seq, **fields)


@pytest.fixture
def project(settings: Settings) -> Project:
    settings.KERNEL = "compiled"
    return create_project(slug="shop", key="shop", origins=["*"])[0]


def left_to_the_twin(envelope: dict[str, Any]) -> None:
    """Lets the stored bodies have a key with an escape, which the kernel does not read."""
    body = json.dumps(envelope)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ingest_rawtrace SET is_gzip = false, body = %b WHERE view_id = %s AND seq = %s",
            [body.replace('"release"', '"rele\\u0061se"').encode(), envelope["viewId"], envelope["seq"]],
        )
        assert cursor.rowcount == 1


@needs_kernel
def test_traces_of_both_kinds_meet_in_one_view_and_cell(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    envelopes = [envelope_of("a", "A\nA B\n-\nC", seq) for seq in range(4)] + [envelope_of("b", "B\nA B")]
    post("shop", *envelopes)
    for envelope in (envelopes[1], envelopes[2]):
        left_to_the_twin(envelope)
    folds: list[object] = []
    original = CompiledSums.add_fold

    def count(sums: Any, *arguments: Any, **named: Any) -> Any:  # Any: a method's own parameters
        folds.append(arguments)
        return original(sums, *arguments, **named)

    monkeypatch.setattr(CompiledSums, "add_fold", count)
    assert fold_all() == [BatchOutcome.FOLDED]
    assert len(folds) == 2
    assert_stored(project.pk, [enter(envelope) for envelope in envelopes])


@needs_kernel
def test_a_panic_of_the_kernel_rejects_one_trace(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    envelopes = [envelope_of(f"v{number}", "A\nA B") for number in range(3)]
    post("shop", *envelopes)
    original = batch._open_sums

    def open_armed(funcs: FuncTable) -> BatchSums[CellKey]:
        sums = original(funcs)
        assert isinstance(sums, CompiledSums)
        sums._kernel.panic_next()
        return sums

    monkeypatch.setattr(batch, "_open_sums", open_armed)
    assert fold_pending_batch() is BatchOutcome.FOLDED
    rejected = rows("SELECT view_id::text, reason, detail FROM ingest_tracereceipt WHERE state <> 1")
    assert [row[1:] for row in rejected] == [("fold_error", "The fold failed with KernelPanic.")]
    assert_stored(project.pk, [enter(envelope) for envelope in envelopes if envelope["viewId"] != rejected[0][0]])


@needs_kernel
def test_a_broken_batch_is_given_back_and_written_by_nobody(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    envelope = envelope_of("a", "A\nA B")
    post("shop", envelope)

    def break_it(sums: Any, key: CellKey, view_id: Any, **named: Any) -> bytes:  # Any: a method's own parameters
        answer: bytes = sums._kernel.grow(7, view_id.bytes, 1, None)  # there is no such cell
        return answer

    with monkeypatch.context() as broken:
        broken.setattr(CompiledSums, "grow", break_it)
        with pytest.raises(RuntimeError, match="could not add up"):
            fold_pending_batch()
    assert rows("SELECT state, claim_token FROM ingest_tracereceipt") == [(0, None)]
    assert rows("SELECT count(*) FROM aggregate_pageview") == [(0,)]
    void_claims()
    assert fold_all() == [BatchOutcome.FOLDED]
    assert_stored(project.pk, [enter(envelope)])


@needs_kernel
def test_a_view_is_erased_by_the_twin_that_did_not_fold_it(project: Project, settings: Settings) -> None:
    kept, gone = envelope_of("kept", "A\nA B\n-"), envelope_of("gone", "A\nC\nA B")
    post("shop", kept, gone)
    fold_all()
    settings.KERNEL = "pure"
    assert erase_view(project.pk, UUID(view_id_of("gone"))).kept_trees == 0
    assert_stored(project.pk, [enter(kept)])
