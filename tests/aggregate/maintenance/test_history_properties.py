"""Any history of posts, workers, merges, expiries, erasures and refolds ends in the sums of a plain ledger."""

from collections import defaultdict
from datetime import timedelta
from uuid import UUID

import pytest
from django.test import override_settings
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from aggregate.fold.batch import FoldedBatch, fold_claim
from aggregate.fold.claims import claim_batch, release_claim
from aggregate.fold.late_arrivals import ViewsExpired
from aggregate.fold.pending import ClaimLost, fold_pending_batch, write_batch
from aggregate.fold.rollups import roll_up_hours
from aggregate.maintenance.erasing import erase_view
from aggregate.maintenance.merging import merge_old_hours
from aggregate.maintenance.refolding import CellOutcome, Scope, finish_run, list_cells, reset_cell, start_run
from aggregate.maintenance.retention import expire_all
from aggregate.models import RefoldRun
from profcore.caching import clear_caches
from profcore.times import midnight_days_before
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.expected_sums import Entry, assert_stored, enter
from tests.aggregate.fresh_projects import fresh_project, void_claims
from tests.aggregate.generated_traffic import NOW, Json, Visit, casts, envelope_of, recordings
from tests.aggregate.posting import fold_all, post, rows
from tests.aggregate.stored_state import assert_rollup_is_exact
from tests.properties import bounded

pytestmark = [pytest.mark.django_db, pytest.mark.slow(15)]

PENDING, FOLDED, REJECTED = 0, 1, 2
places = st.integers(0, 4)
TraceKey = tuple[str, int]
GroupedView = tuple[str, tuple[str, str]]


class History(RuleBasedStateMachine):
    """One project's life. What is in the sums is known by the ledger; the program is asked for states only."""

    def __init__(self) -> None:
        super().__init__()
        self.sandbox = fresh_project()
        self.project = self.sandbox.__enter__()
        create_project(slug="other")  # keeps its raw traces long, so that no partition is dropped
        self.sent: dict[TraceKey, Json] = {}
        self.states: dict[TraceKey, int] = {}
        self.raw: set[TraceKey] = set()
        self.entries: dict[TraceKey, Entry] = {}  # in the sums
        self.ghosts: list[Entry] = []  # in the sums, of views that were erased without contribution and raw traces
        self.ghost_trees: list[tuple[int, Entry]] = []  # only in call trees, each with its cell
        self.has_row: set[GroupedView] = set()
        self.batches: list[FoldedBatch] = []
        self.run: RefoldRun | None = None

    def teardown(self) -> None:
        try:
            self.batches.clear()
            void_claims()
            fold_all()
            self.settle()
            self.compare()
        finally:
            self.sandbox.__exit__(None, None, None)

    # --- the model ----------------------------------------------------------------------------------------------------
    def entries_of(self, grouped: GroupedView) -> dict[TraceKey, Entry]:
        return {key: entry for key, entry in self.entries.items() if (entry.view, entry.group) == grouped}

    def grouped(self, key: TraceKey) -> GroupedView:
        envelope = self.sent[key]
        return envelope["viewId"], (envelope["release"], envelope["page"])

    def is_lost(self, grouped: GroupedView) -> bool:
        """Tells whether a late trace of a view must be rejected: it has no row, and some folded traces have no body."""
        folded = [key for key, state in self.states.items() if state == FOLDED and self.grouped(key) == grouped]
        return (
            bool(folded)
            and grouped not in self.has_row
            and not (self.raw.issuperset(folded) and self.entries_of(grouped))
        )

    def settle(self) -> None:
        """Reads which traces were folded or rejected, and checks that each had to be."""
        stored = {
            (view, seq): state
            for view, seq, state in rows(
                "SELECT view_id::text, seq, state FROM ingest_tracereceipt WHERE project_id = %s", self.project.pk
            )
        }
        assert stored.keys() == self.states.keys()
        changed = {key for key in stored if stored[key] != self.states[key]}
        lost = {grouped: self.is_lost(grouped) for grouped in {self.grouped(key) for key in changed}}
        for key in changed:
            assert self.states[key] == PENDING
            grouped = self.grouped(key)
            assert stored[key] == (REJECTED if lost[grouped] else FOLDED), (key, grouped)
            self.states[key] = stored[key]
            if stored[key] == FOLDED:
                self.entries[key] = enter(self.sent[key])
                self.has_row.add(grouped)

    def compare(self) -> None:
        entries = [*self.entries.values(), *self.ghosts]
        with_rows = [entry for entry in self.entries.values() if (entry.view, entry.group) in self.has_row]
        assert_stored(self.project.pk, entries, rows_of=with_rows, more_trees=[entry for _, entry in self.ghost_trees])
        assert_rollup_is_exact()

    # --- the steps ----------------------------------------------------------------------------------------------------
    @initialize(cast=casts(), pieces=st.integers(1, 3))
    def begin(self, cast: list[Visit], pieces: int) -> None:
        self.cast = cast
        self.pieces = pieces

    @rule(sent=st.lists(st.tuples(places, st.integers(0, 2), recordings(max_samples=6)), min_size=1, max_size=5))
    def post_some(self, sent: list[tuple[int, int, Json]]) -> None:
        envelopes = [envelope_of(self.cast[visit], seq, recording) for visit, seq, recording in sent]
        post("shop", *envelopes)
        for envelope in envelopes:
            key = envelope["viewId"], envelope["seq"]
            if key not in self.states:
                self.sent[key], self.states[key] = envelope, PENDING
                self.raw.add(key)

    @rule(most=st.integers(1, 4))
    def fold(self, most: int) -> None:
        with override_settings(FOLD_BATCH_TRACES=most, CALLTREE_MAX_PIECES=self.pieces, HOTSPOT_MAX_PIECES=self.pieces):
            fold_pending_batch()
        self.settle()

    @rule(most=st.integers(1, 4))
    def another_worker_claims(self, most: int) -> None:
        with override_settings(FOLD_BATCH_TRACES=most):
            claim = claim_batch()
        if claim is not None:
            self.batches.append(fold_claim(claim))

    @precondition(lambda self: self.batches)
    @rule(which=places)
    def another_worker_writes(self, which: int) -> None:
        batch = self.batches.pop(which % len(self.batches))
        try:
            try:
                write_batch(batch)
            except ViewsExpired as error:
                write_batch(fold_claim(batch.claim, expired=error.keys))
        except ClaimLost:
            release_claim(batch.claim)
        self.settle()

    @rule()
    def leases_run_out(self) -> None:
        void_claims()

    @rule()
    def roll_up(self) -> None:
        roll_up_hours(NOW)

    @rule()
    def merge(self) -> None:
        merge_old_hours(NOW)

    @rule(days=st.sampled_from((2, 4, 5)))
    def expire_views(self, days: int) -> None:
        self.expire(keep_views_days=days)
        before = midnight_days_before(NOW, days)
        self.has_row -= {(e.view, e.group) for e in self.entries.values() if e.place[2] < before}

    @rule(days=st.sampled_from((4, 5)))
    def expire_cells(self, days: int) -> None:
        self.expire(keep_cells_days=days)
        before = midnight_days_before(NOW, days)
        self.has_row -= {(e.view, e.group) for e in self.entries.values() if e.place[2] < before}
        self.entries = {key: entry for key, entry in self.entries.items() if entry.place[2] >= before}
        self.ghosts = [entry for entry in self.ghosts if entry.place[2] >= before]
        self.ghost_trees = [ghost for ghost in self.ghost_trees if ghost[1].place[2] >= before]

    @rule()
    def expire_raw_traces(self) -> None:
        # Three days later no worker has a func cached, and no claim is left: expiry may delete unused funcs.
        self.batches.clear()
        void_claims()
        clear_caches()
        self.expire(keep_raw_days=1, days_later=3)
        self.raw = {key for key in self.raw if self.states[key] == PENDING}

    def expire(self, *, days_later: int = 0, **keep: int) -> None:
        everything = {f"keep_{name}_days": 400 for name in ("raw", "views", "cells")}
        Project.objects.filter(pk=self.project.pk).update(**(everything | keep))
        Project.objects.exclude(pk=self.project.pk).update(**everything)
        expire_all(NOW + timedelta(days=days_later))

    @rule(which=places)
    def erase(self, which: int) -> None:
        view = self.cast[which].view_id
        cell_of = self.read_cells_of(view)
        of_groups: dict[GroupedView, list[TraceKey]] = defaultdict(list)
        for key in list(self.states):
            if key[0] == view:
                of_groups[self.grouped(key)].append(key)
        kept_sums = kept_trees = 0
        for grouped, keys in of_groups.items():
            folded = [key for key in keys if self.states[key] == FOLDED]
            mine = list(self.entries_of(grouped).values())
            is_whole = bool(folded) and self.raw.issuperset(folded)
            if grouped in self.has_row:
                if not is_whole:
                    self.ghost_trees.extend((cell_of[grouped], entry) for entry in mine)
                    kept_trees += 1
            elif folded and mine and not is_whole:
                self.ghosts.extend(mine)
                kept_sums += 1
            for key in keys:
                self.entries.pop(key, None)
                self.raw.discard(key)
                del self.states[key]
            self.has_row.discard(grouped)
        erasure = erase_view(self.project.pk, UUID(view))
        note(f"erased {erasure}")
        assert erasure.kept_trees == kept_trees
        self.drop_ghost_trees("c.traces = 0")  # erasing the last trace of a cell deletes the rest of its call tree

    def read_cells_of(self, view: str) -> dict[GroupedView, int]:
        """Returns the cell of each of a view's rows."""
        cells = rows(
            """SELECT g.release, g.page, v.cell_id FROM aggregate_pageview v
               JOIN ingest_group g ON g.project_id = v.project_id AND g.id = v.group_id
               WHERE v.project_id = %s AND v.view_id = %s::uuid""",
            self.project.pk,
            view,
        )
        return {(view, (release, page)): cell_id for release, page, cell_id in cells}

    def drop_ghost_trees(self, condition: str) -> None:
        """Forgets the ghost trees of cells `c` that meet a condition; an hour's tree may be in its day by now."""
        dropped = {
            cell_id
            for (cell_id,) in rows(
                f"""SELECT own.id FROM aggregate_cell own JOIN aggregate_cell c
                      ON c.project_id = own.project_id AND c.id = COALESCE(own.merged_into, own.id)
                    WHERE own.project_id = %s AND {condition}""",
                self.project.pk,
            )
        }
        self.ghost_trees = [ghost for ghost in self.ghost_trees if ghost[0] not in dropped]

    @rule(most=st.integers(1, 3))
    def refold(self, most: int) -> None:
        """Sets some cells back; the run goes on at the next call."""
        if self.run is None:
            self.run = start_run(Scope(self.project.pk))
        cells = list_cells(self.run)
        for cell_id, group_id in cells[:most]:
            views = rows(
                """SELECT v.view_id::text, g.release, g.page FROM aggregate_pageview v
                   JOIN ingest_group g ON g.project_id = v.project_id AND g.id = v.group_id
                   JOIN aggregate_cell c ON c.project_id = v.project_id AND v.cell_id = COALESCE(c.merged_into, c.id)
                   WHERE v.project_id = %s AND c.id = %s""",
                self.project.pk,
                cell_id,
            )
            if reset_cell(self.run, cell_id, group_id) is CellOutcome.RESET:
                self.drop_ghost_trees(f"c.id = {int(cell_id)}")
                for view, release, page in views:
                    grouped = (view, (release, page))
                    self.has_row.discard(grouped)
                    for key in self.entries_of(grouped):
                        del self.entries[key]
                        self.states[key] = PENDING
        if len(cells) <= most:
            finish_run(self.run)
            self.run = None

    @invariant()
    def sums_are_the_ledgers(self) -> None:
        if self.states or self.ghosts:
            self.compare()


def test_any_history_ends_in_the_ledgers_sums() -> None:
    run_state_machine_as_test(History, settings=bounded(30, steps=25))
