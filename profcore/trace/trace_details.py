"""Facts of an envelope about its page view: browser, machine, tags, and vitals.

Lists show them for many views, so the trace itself is not decoded here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from profcore.trace.marks import EXACT_INTEGERS, TimelineMark, read_marks
from profcore.trace.weights import to_us
from profcore.trace.wire import UNREADABLE, Device

LCP: Final = "largest-contentful-paint"
FCP: Final = "first-contentful-paint"
INP: Final = "interaction-to-next-paint"
INTERACTION: Final = "interaction"
VITALS: Final = frozenset({LCP, FCP, "first-paint", "layout-shift", INP})


@dataclass(frozen=True, slots=True)
class Vitals:
    """The vitals of a view in µs; None without a mark. Paints are on the view's clock.

    `inp_us` is the client's own figure, or the longest interaction, which is correct for views with fewer than 50.
    """

    lcp_us: int | None = None
    fcp_us: int | None = None
    inp_us: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceDetails:
    """Facts of one trace about its view. Texts are hostile; tags are unchanged and sorted.

    `marks_dropped` is the number of marks of the view so far that its sender left out, because they were too many.
    """

    user_agent: str | None = None
    device: Device | None = None
    tags: tuple[str, ...] = ()
    reason: str | None = None
    marks_dropped: int = 0
    vitals: Vitals = field(default_factory=Vitals)


class _Head(msgspec.Struct, gc=False, rename="camel", kw_only=True):
    time_origin: float = 0.0
    view_start: float | None = None
    user_agent: str | None = None
    device: Device | None = None
    tags: dict[str, str] | list[str] | None = None
    reason: str | None = None
    marks_dropped: object = None  # no one has checked it


_decoder: Final = msgspec.json.Decoder(_Head)


def read_details(body: bytes) -> TraceDetails:
    """Reads the facts of an accepted envelope; empty facts for any other body."""
    try:
        head = _decoder.decode(body)
    except UNREADABLE:
        return TraceDetails()
    tags = [f"{key}:{value}" for key, value in head.tags.items()] if isinstance(head.tags, dict) else head.tags or []
    start = head.time_origin if head.view_start is None else head.view_start
    marks = read_marks(body, page_url=None, page="")
    vitals = find_vitals(marks, shift_us=to_us(head.time_origin - start))
    return TraceDetails(
        user_agent=head.user_agent,
        device=head.device,
        tags=tuple(sorted(tags)),
        reason=head.reason,
        marks_dropped=_read_number(head.marks_dropped),
        vitals=vitals,
    )


def _read_number(value: object) -> int:
    """Returns a number of things; 0 if the value is not one."""
    return value if type(value) is int and 0 < value < EXACT_INTEGERS else 0


def find_vitals(marks: Iterable[TimelineMark], *, shift_us: int = 0) -> Vitals:
    """Returns the vitals among some marks. `shift_us` moves them to the view's clock."""
    paints: dict[str, int] = {}
    delays: dict[str, int] = {}
    for mark in marks:
        if mark.type in (LCP, FCP):  # the last candidate counts
            paints[mark.type] = max(mark.end_us + shift_us, paints.get(mark.type, 0))
        elif mark.type in (INP, INTERACTION):
            delays[mark.type] = max(mark.duration_us, delays.get(mark.type, 0))
    return Vitals(paints.get(LCP), paints.get(FCP), delays.get(INP, delays.get(INTERACTION)))


def join_vitals(vitals: Sequence[Vitals]) -> Vitals:
    """Returns the vitals of a view from those of its traces: the latest and the longest."""

    def most(values: Iterable[int | None]) -> int | None:
        return max((value for value in values if value is not None), default=None)

    return Vitals(most(v.lcp_us for v in vitals), most(v.fcp_us for v in vitals), most(v.inp_us for v in vitals))
