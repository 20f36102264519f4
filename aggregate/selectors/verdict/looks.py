"""The looks at a question that are kept, and the one that an answer belongs to (`profcore.stats.plan`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from hashlib import blake2b
from typing import Final

from django.db import connection
from django.utils import timezone

from aggregate.models import VerdictLook
from aggregate.selectors.slice.slices import Slice
from profcore.stats.plan import LookPoint, bound_of_newest, is_another_look

# The plan is complete when the head has as many views as the base, or after so long a time.
PLAN: Final = timedelta(days=14)
DIGEST_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The newest look at a question: its number from 1 on, and the q below which a change is clear.

    `is_new` tells that it is not kept yet.
    """

    question: bytes
    number: int
    reached: float
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
    points = [LookPoint(look.reached, look.information) for look in looks]
    now = LookPoint(_plan_reached(head, views), base_views * head_views / (base_views + head_views))
    if points:  # views that expired were seen all the same
        now = LookPoint(max(now.reached, points[-1].reached), max(now.information, points[-1].information))
    if not is_another_look(points, now):
        return looks[-1]
    return Look(
        question=question,
        number=looks[-1].number + 1 if looks else 1,
        reached=now.reached,
        information=now.information,
        bound=bound_of_newest([*points, now]),
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
            reached=row.reached,
            information=row.information,
            bound=row.bound,
            is_new=False,
        )
        for row in rows
    ]


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
