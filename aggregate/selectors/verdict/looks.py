"""The look that an answer belongs to (`profcore.stats.verdict.plan`). Only the release alert keeps looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Final, NamedTuple

from aggregate.models import VerdictLook
from aggregate.selectors.project.pages import select_releases
from aggregate.selectors.slice.sides import are_releases
from aggregate.selectors.slice.slices import Slice
from profcore.stats.verdict.plan import (
    LookPoint,
    bound_of_newest,
    count_steps,
    find_point,
    is_another_look,
)

DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The newest look at a question: its number from 1 on, and the q below which a change is clear.

    `is_new` says that it is not kept.
    """

    question: bytes
    number: int
    reached: float
    information: float
    bound: float
    is_new: bool


def find_look(base: Slice, head: Slice, views: tuple[int, int], *, now: datetime) -> Look | None:
    """Returns the look at two sides with these numbers of views, None for a question whose looks are not counted.

    Counted are the looks at two releases, also of some pages, devices, browsers or navigations, whichever of both is
    asked about. Spans of time move with the day on which one asks. Two statements.
    """
    if not has_looks(base, head) or not min(views):
        return None
    question = digest_question(base, head)
    looks = select_looks(base.project_id, question)
    base_views, head_views = views
    points = [LookPoint(look.reached, look.information) for look in looks]
    plan = find_plan(base, head, now=now)
    newer, older = (head_views, base_views) if plan.is_head_newer else (base_views, head_views)
    point = find_point(newer, older, plan.step)
    if points:  # views that expired were seen all the same
        point = LookPoint(max(point.reached, points[-1].reached), max(point.information, points[-1].information))
    if not is_another_look(points, point):
        return looks[-1]
    return Look(
        question=question,
        number=looks[-1].number + 1 if looks else 1,
        reached=point.reached,
        information=point.information,
        bound=bound_of_newest([*points, point]),
        is_new=True,
    )


def digest_question(base: Slice, head: Slice) -> bytes:
    """Returns the key of a question: both sides, in any order, however their values are ordered."""
    text = "\n".join(sorted(repr(sorted(side.params())) for side in (base, head)))
    return blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()


def select_looks(project_id: int, question: bytes) -> Sequence[Look]:
    """Returns the looks at a question, in order. One statement."""
    rows = VerdictLook.objects.filter(project_id=project_id, question=question).order_by("number")
    return [
        Look(
            question=question,
            number=row.number,
            reached=row.reached,
            information=row.information,
            bound=row.bound,
            is_new=False,
        )
        for row in rows
    ]


def has_looks(base: Slice, head: Slice) -> bool:
    """Returns whether the looks at two sides are counted."""
    return are_releases(base, head) and not base.ranges


class Plan(NamedTuple):
    """How old the newer of two releases is: in tenths of the plan, 0 to 10."""

    is_head_newer: bool
    step: int


def find_plan(base: Slice, head: Slice, *, now: datetime) -> Plan:
    """Returns the plan of looks at two releases, as far as it is at a moment. One statement."""
    seen = {row.release: row.first_seen_at for row in select_releases(head.project_id)}
    base_at, head_at = (seen.get(side.releases[0], now) for side in (base, head))
    return Plan(head_at >= base_at, count_steps(now - max(base_at, head_at)))
