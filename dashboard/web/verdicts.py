"""Verdicts that pages and the read API share: the sides of a query, and the answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from django.http import QueryDict

from aggregate.selectors.project.last_release import pick_last_releases
from aggregate.selectors.project.overview import Overview, OverviewRow, select_overview
from aggregate.selectors.project.pages import ReleaseRow, select_releases
from aggregate.selectors.slice.read_context import once_a_read
from aggregate.selectors.slice.sides import has_sides, resolve_sides
from aggregate.selectors.slice.slices import MAX_VALUES, Slice
from aggregate.selectors.statistics.comparisons import SliceComparison
from aggregate.selectors.verdict.breakdown import Breakdown, select_breakdown
from aggregate.selectors.verdict.looks import find_plan, has_looks
from aggregate.selectors.verdict.page_changes import VERDICT_MEASURE
from aggregate.selectors.verdict.verdict import Culprit, Verdict, select_verdict
from aggregate.selectors.vitals.forced_change import ForcedChange, select_forced_change
from alerts.bases import BaseChoice, Rollback, choose_base, select_rolled_back
from dashboard.web.cache import cached_comparison, key_of_sides
from dashboard.web.params import read_side
from profcore.caching import keep

# The newest ones, among which the last one that counts and its base are chosen; rows of the overview's table, too.
MAX_RELEASES: Final = 20
# A verdict is a few kB: sums, intervals and three functions.
VERDICTS_KEPT: Final = 64


@dataclass(frozen=True, slots=True)
class ChosenSides:
    """Both sides that a verdict is on. Newer releases than the base are `passed_over` if they were rolled back."""

    base: Slice
    head: Slice
    passed_over: tuple[Rollback, ...] = ()


def choose_sides(
    slice_: Slice,
    params: QueryDict,
    *,
    newest: Overview | None = None,
    known: Sequence[ReleaseRow] | None = None,
) -> ChosenSides | None:
    """Returns both sides that a verdict is on: those that the address names, or the last release and its base.

    `newest` are the slice's newest `MAX_RELEASES`, for a caller that has them. None if there are no two releases.
    Raises `SliceError` and `ParamError`.
    """
    base, head = read_side(params, "base"), read_side(params, "head")
    if has_sides(base, head):
        return ChosenSides(*resolve_sides(slice_, base, head))
    known = select_releases(slice_.project_id) if known is None else known
    picked = pick_last_releases(slice_, select_newest(slice_, known, newest), known)
    if picked is None:
        return None
    candidates, last = picked
    chosen = choose_base_of(slice_.project_id, last, candidates, known)
    return ChosenSides(*sides_of_releases(slice_, chosen.release, last), chosen.passed_over)


def select_newest(slice_: Slice, known: Sequence[ReleaseRow], newest: Overview | None = None) -> Sequence[OverviewRow]:
    """Returns the newest releases of a slice, among which a verdict chooses. Up to two statements.

    If a slice that names no release has more than `MAX_RELEASES`, they are of those that count, if the slice has two:
    made-up names do not hide what all others use. `known` are the project's releases, the newest first;
    `newest` are the newest of the slice, if the caller has them.
    """
    overview = newest or select_overview(slice_, ["release"], limit=MAX_RELEASES)
    counted = [row.release for row in known if row.is_comparable][:MAX_VALUES]
    if overview.row_count <= MAX_RELEASES or slice_.releases or len(counted) < 2:
        return overview.rows
    rows = select_overview(replace(slice_, releases=tuple(counted)), ["release"], limit=MAX_RELEASES).rows
    return rows if len(rows) >= 2 else overview.rows


def choose_base_of(project_id: int, head: str, candidates: Sequence[str], known: Sequence[ReleaseRow]) -> BaseChoice:
    """Returns what a release is compared with by default; see `choose_base`, which alerts use too."""
    if len(candidates) == 1:
        return BaseChoice(candidates[0])
    return choose_base(project_id, head, candidates, known, find_rolled_back(project_id))


def find_rollback(head: Slice) -> datetime | None:
    """Returns by when it was known that the release of a verdict's head was rolled back; None if it is in use."""
    if len(head.releases) != 1:
        return None
    return find_rolled_back(head.project_id).get(head.releases[0])


@once_a_read
def find_rolled_back(project_id: int) -> Mapping[str, datetime]:
    """Returns which of a project's releases were rolled back, and when that was known. Two or three statements."""
    now = datetime.now(UTC)
    rows = select_releases(project_id)
    announced = {row.release: row.announcement.rolled_back_at for row in rows if row.announcement}
    said = {release: at for release, at in announced.items() if at is not None and at <= now}
    return select_rolled_back(project_id, said, now)


def sides_of_releases(slice_: Slice, base: str, head: str) -> tuple[Slice, Slice]:
    """Returns a slice of each of two releases."""
    return replace(slice_, releases=(base,)), replace(slice_, releases=(head,))


@once_a_read
def key_of_verdict(base: Slice, head: Slice) -> tuple[object, ...]:
    """Returns the key of a verdict: that of its comparison, and how much of the plan of looks is over."""
    plan = find_plan(base, head, now=datetime.now(UTC)) if has_looks(base, head) else None
    return key_of_sides(base, head), plan


def answer_verdict(base: Slice, head: Slice) -> Verdict:
    """Returns the verdict on two sides; the last ones are cached under their key (`key_of_verdict`)."""
    sides_key, plan = key_of_verdict(base, head)
    return _cached_verdict(base, head, repr(sides_key), repr(plan))


@keep
@lru_cache(maxsize=VERDICTS_KEPT)
def _cached_verdict(base: Slice, head: Slice, _sides_key: str, _plan: str) -> Verdict:
    return select_verdict(base, head, now=datetime.now(UTC))


def answer_breakdown(base: Slice, head: Slice) -> Breakdown:
    """Returns two sides by dimension, judged by the verdict's bound; cached as verdicts are."""
    verdict = answer_verdict(base, head)
    return _cached_breakdown(base, head, repr(key_of_sides(base, head)), verdict.judgement.bound)


@keep
@lru_cache(maxsize=VERDICTS_KEPT)
def _cached_breakdown(base: Slice, head: Slice, _key: str, bound: float) -> Breakdown:
    return select_breakdown(base, head, bound=bound)


def find_first_culprit(verdict: Verdict) -> Culprit | None:
    """Returns the function that a verdict names first, if it made something slower."""
    first = verdict.leading_function or next(iter(verdict.culprits), None)
    return first if first is not None and first.difference.delta_ms > 0 else None


def answer_forced_change(base: Slice, head: Slice) -> ForcedChange | None:
    """Returns the forced layout of the function that the verdict on two sides names first; cached as verdicts are."""
    sides_key, plan = key_of_verdict(base, head)
    return _cached_forced_change(base, head, repr(sides_key), repr(plan))


@keep
@lru_cache(maxsize=VERDICTS_KEPT)
def _cached_forced_change(base: Slice, head: Slice, sides_key: str, plan: str) -> ForcedChange | None:
    culprit = find_first_culprit(_cached_verdict(base, head, sides_key, plan))
    if culprit is None:
        return None
    pages = (culprit.change.page,) if culprit.change.page else base.pages
    return select_forced_change(replace(base, pages=pages), replace(head, pages=pages), culprit)


def compare_cached(base: Slice, head: Slice) -> SliceComparison:
    """Returns the comparison of the functions of two slices, cached as that of the page "Compare" is."""
    return cached_comparison(base, head, VERDICT_MEASURE, "function", repr(key_of_sides(base, head)))
