"""Traces received and refused in a slice's time, so that shares stay honest.

The endpoint knows only project, hour and reason of a refused trace, so the counts are those of the whole project.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from django.db import connection

from aggregate.selectors.slice.slices import Slice, where_arrived
from ingest.models import PENDING
from profcore.errors import Reason

# Refusals of traces that were valid, but too many.
DROPPING_REASONS: Final = frozenset(
    {Reason.QUOTA_EXCEEDED, Reason.RATE_LIMITED, Reason.TOO_MANY_PENDING, Reason.TOO_MANY_PAGES}
)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Traces of a project that arrived in the hours of a slice: received ones, and refused ones by reason.

    A post that was refused before it was read counts once, however many traces were in it.
    """

    received: int
    refused_by_reason: Mapping[str, int] = field(default_factory=dict)

    @property
    def refused(self) -> int:
        """The number of refused traces, whatever the reason."""
        return sum(self.refused_by_reason.values())

    @property
    def dropped(self) -> int:
        """The number of traces refused for a quota, a rate or another bound. They are missing from every sum."""
        return sum(count for reason, count in self.refused_by_reason.items() if reason in DROPPING_REASONS)

    @property
    def dropped_share(self) -> float | None:
        """The share of dropped traces among all valid ones, 0 to 1; None if nothing arrived."""
        usable = self.received + self.dropped
        return self.dropped / usable if usable else None

    @property
    def dropped_by_reason(self) -> list[tuple[str, int]]:
        """(reason in words, count) of the dropped traces, the most first."""
        dropped = [(r.replace("_", " "), n) for r, n in self.refused_by_reason.items() if r in DROPPING_REASONS]
        return sorted(dropped, key=lambda pair: (-pair[1], pair[0]))


def select_arrivals(slice_: Slice) -> Arrivals:
    """Returns the traces that arrived in the slice's time, by hour of arrival. One statement.

    A view is in the slice by its start, which is a little earlier. At the edges of the time the two may differ.
    """
    hours, params = where_arrived(slice_, "k", "hour_at")
    receipts, _ = where_arrived(slice_, "r", "received_at")
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT (SELECT COALESCE(sum(k.folded + k.rejected), 0)::bigint FROM ingest_receiptcount k WHERE {hours})
                       + (SELECT count(*) FROM ingest_tracereceipt r WHERE {receipts} AND r.state = {PENDING}),
                       array_agg(f.reason ORDER BY f.reason), array_agg(f.n ORDER BY f.reason)
                FROM (SELECT k.reason, sum(k.count)::bigint AS n
                      FROM ingest_refusal k WHERE {hours} GROUP BY 1) AS f""",
            params,
        )
        ((received, reasons, counts),) = cursor.fetchall()
    return Arrivals(received, dict(zip(reasons or [], counts or [], strict=True)))
