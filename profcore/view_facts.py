"""What an envelope says of its page view beside the samples: browser, machine, tags, and how quick the page was.

Lists show it for many views: nothing of the trace itself is decoded here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from profcore.formats.marks import TimelineMark, read_marks
from profcore.weights import to_us
from profcore.wire import UNREADABLE, Device

LCP: Final = "largest-contentful-paint"
FCP: Final = "first-contentful-paint"
INP: Final = "interaction-to-next-paint"
INTERACTION: Final = "interaction"
VITALS: Final = frozenset({LCP, FCP, "first-paint", "layout-shift", INP})


@dataclass(frozen=True, slots=True)
class Vitals:
    """How quick a view was, µs; None where no mark tells. Paints are on the view's clock.

    `inp_us` is the client's own figure, or the longest interaction: what it is for a view of fewer than 50.
    """

    lcp_us: int | None = None
    fcp_us: int | None = None
    inp_us: int | None = None


@dataclass(frozen=True, slots=True)
class TraceFacts:
    """What one trace says of its view. Texts are hostile; tags are as they came, sorted."""

    user_agent: str | None = None
    device: Device | None = None
    tags: tuple[str, ...] = ()
    reason: str | None = None
    vitals: Vitals = field(default_factory=Vitals)


class _Head(msgspec.Struct, gc=False, rename="camel"):
    time_origin: float = 0.0
    view_start: float | None = None
    user_agent: str | None = None
    device: Device | None = None
    tags: dict[str, str] | list[str] | None = None
    reason: str | None = None


_decoder: Final = msgspec.json.Decoder(_Head)


def read_facts(body: bytes) -> TraceFacts:
    """Reads the facts of an envelope that `decode_envelope` has accepted; none of one that it would not."""
    try:
        head = _decoder.decode(body)
    except UNREADABLE:
        return TraceFacts()
    tags = [f"{key}:{value}" for key, value in head.tags.items()] if isinstance(head.tags, dict) else head.tags or []
    start = head.time_origin if head.view_start is None else head.view_start
    marks = read_marks(body, page_url=None, page="")
    vitals = find_vitals(marks, shift_us=to_us(head.time_origin - start))
    return TraceFacts(head.user_agent, head.device, tuple(sorted(tags)), head.reason, vitals)


def find_vitals(marks: Iterable[TimelineMark], *, shift_us: int = 0) -> Vitals:
    """Returns the vitals among some marks, which `shift_us` brings on the view's clock."""
    paints: dict[str, int] = {}
    delays: dict[str, int] = {}
    for mark in marks:
        if mark.type in (LCP, FCP):  # the last candidate counts
            paints[mark.type] = max(mark.end_us + shift_us, paints.get(mark.type, 0))
        elif mark.type in (INP, INTERACTION):
            delays[mark.type] = max(mark.duration_us, delays.get(mark.type, 0))
    return Vitals(paints.get(LCP), paints.get(FCP), delays.get(INP, delays.get(INTERACTION)))


def join_vitals(each: Sequence[Vitals]) -> Vitals:
    """Returns those of a view from those of its traces: the latest and longest."""

    def most(values: Iterable[int | None]) -> int | None:
        return max((value for value in values if value is not None), default=None)

    return Vitals(most(v.lcp_us for v in each), most(v.fcp_us for v in each), most(v.inp_us for v in each))
