"""How often a question was looked at, and the bound that this leaves for the newest look.

Who looks at a comparison every day until something is below 0.05 finds something in one of four comparisons of the same
with the same. So each look spends a part of the 5 %: little while the head has few views, all of it at the end of the
plan (docs/statistics.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b
from itertools import pairwise
from typing import Final

from django.db import connection
from django.utils import timezone

from aggregate.models import VerdictLook
from aggregate.selectors.slice.slices import Slice
from profcore.stats.comparison import FALSE_DISCOVERIES
from profcore.stats.looks import bound_of_look

# The plan is complete when the head has as many views as the base, or after so long a time.
PLAN: Final = timedelta(days=14)
# Another look is one with so much more information than the last one, or so much later in the plan. Answers in between
# are of the same look.
MORE_INFORMATION: Final = 1.25
LATER_IN_PLAN: Final = 0.1
# From 20 views a side to a million there are 49 steps; a plan has 10 steps of time.
MAX_LOOKS: Final = 60
DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The newest look at a question: its number from 1 on, and the q below which a change is clear.

    `is_new` tells that it is not kept yet.
    """

    question: bytes
    number: int
    spent: float
    information: float
    bound: float
    is_new: bool


def find_look(base: Slice, head: Slice, views: tuple[int, int]) -> Look | None:
    """Returns the look at two sides with so many views, None for a question whose looks are not counted.

    Counted are the looks at two releases, also of some pages, devices, browsers or navigations. Spans of time move with
    the day on which one asks. Two statements.
    """
    has_releases = len(base.releases) == len(head.releases) == 1 and base.releases != head.releases
    if not has_releases or base.ranges or head.ranges or not min(views):
        return None
    question = digest_question(base, head)
    looks = select_looks(base.project_id, question)
    base_views, head_views = views
    information = base_views * head_views / (base_views + head_views)
    spent = max(_plan_reached(head, views), looks[-1].spent if looks else 0.0)
    if looks and not _is_another(looks[-1], spent, information):
        return looks[-1]
    points = [(look.spent, look.information) for look in looks]
    information = max(information, points[-1][1]) if points else information
    points.append((spent, information))
    bound = looks[-1].bound if looks and looks[-1].spent >= 1.0 else _bound(points)
    return Look(
        question=question,
        number=looks[-1].number + 1 if looks else 1,
        spent=spent,
        information=information,
        bound=bound,
        is_new=True,
    )


def digest_question(base: Slice, head: Slice) -> bytes:
    """Returns the key of a question: both sides, however their values are ordered."""
    text = "\n".join(repr(sorted(side.params())) for side in (base, head))
    return blake2b(text.encode(), digest_size=DIGEST_BYTES).digest()


def select_looks(project_id: int, question: bytes) -> Sequence[Look]:
    """Returns the looks at a question, in order. One statement."""
    rows = VerdictLook.objects.filter(project_id=project_id, question=question).order_by("number")
    return [
        Look(
            question=question,
            number=row.number,
            spent=row.spent,
            information=row.information,
            bound=row.bound,
            is_new=False,
        )
        for row in rows
    ]


def _is_another(last: Look, spent: float, information: float) -> bool:
    if last.number >= MAX_LOOKS:
        return False
    is_later = spent >= last.spent + LATER_IN_PLAN or (spent >= 1.0 > last.spent)
    return information >= last.information * MORE_INFORMATION or is_later


def _bound(points: Sequence[tuple[float, float]]) -> float:
    """Returns the bound of the last of some looks, given as (part of the plan, information)."""
    kept = [point for point, after in pairwise(points) if point[0] < after[0]]  # of equal ones only the last spends
    kept.append(points[-1])
    return bound_of_look([spent for spent, _ in kept], [information for _, information in kept], FALSE_DISCOVERIES)


def _plan_reached(head: Slice, views: tuple[int, int]) -> float:
    """Returns the part of the plan that is reached, 0 to 1: by views of both sides, or by the age of the head."""
    by_views = views[1] / views[0]
    if by_views >= 1:
        return 1.0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT min(first_seen_at) FROM ingest_group WHERE project_id = %s AND release = %s",
            [head.project_id, head.releases[0]],
        )
        ((first_seen_at,),) = cursor.fetchall()
    age: timedelta = timezone.now() - first_seen_at if first_seen_at else timedelta()
    return min(max(by_views, age / PLAN), 1.0)


def keep_look(row: VerdictLook) -> None:
    """Keeps a look. If another process kept one of the same number, that one stays."""
    VerdictLook.objects.bulk_create([row], ignore_conflicts=True)
