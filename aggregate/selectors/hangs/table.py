"""Hangs of a slice, by the function in which the page hung.

Reports are of all page views whose page names the endpoint, not only of recorded ones. They are counted by UTC day; a
slice's time is widened to whole days, and of its other fields only release and page are known of them.
"""

import json
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from aggregate.selectors.code.labels import ANONYMOUS, place_of
from aggregate.selectors.hangs.functions import HungFunction, Spot, find_functions
from aggregate.selectors.project.absences import estimate_recorded
from aggregate.selectors.slice.days import where_utc_days, widen_to_days
from aggregate.selectors.slice.slices import Slice
from aggregate.sql import select_records, select_rows
from profcore.hangs.reports import HANG_REASONS, STACK_STATES, UNRESPONSIVE
from profcore.hangs.stacks import CallFrame

MAX_READ: Final = 1_000  # places × stacks of a slice, those with the most reports: 1 to 10 kB each
MAX_PAGES: Final = 5  # that a row names


class OriginalCall(NamedTuple):
    """Where a call is in the original sources: source, line and column from 1, and the name of the function around it.

    The name is None if it is not known.
    """

    source: str
    line: int
    column: int
    name: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HangFrame:
    """A frame of a reported stack, and what a source map says of its call."""

    frame: CallFrame
    original: OriginalCall | None = None

    @property
    def label(self) -> str:
        """The name to show, without the place."""
        return (self.original and self.original.name) or self.frame.name or ANONYMOUS

    @property
    def place(self) -> str:
        """`file:line:column` of the call, in the original if that is known; "" for a built-in."""
        if self.original is not None:
            return place_of(*self.original[:3])
        return place_of(self.frame.uri, self.frame.line, self.frame.column)


@dataclass(frozen=True, slots=True, kw_only=True)
class HangRow:
    """Reports of one function, or of one reason without a stack.

    `top` is the innermost frame in a script, with the function that it is in, if traces know it. `frames` are those of
    the stack with the most reports. `first_release` is that of the earliest report and `last_release` that of the
    latest, "" if it named none.
    """

    reason: str
    stack_state: str
    reports: int
    first_at: datetime
    last_at: datetime
    first_release: str
    last_release: str
    pages: Sequence[tuple[str, int]]
    page_count: int
    stack_count: int
    top: HangFrame | None = None
    function: HungFunction | None = None
    frames: Sequence[HangFrame] = field(default_factory=list)

    @property
    def label(self) -> str | None:
        """The function's name; None if there is no stack with a script."""
        if self.function is not None and (name := self.function.name):
            return name
        return self.top.label if self.top else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HangTable:
    """The hangs of a slice: all reports, and its rows, those with the most reports first.

    `views` estimates the page views of the same time, releases and pages that the recorded ones stand for; None if it
    is not known. `unread` are reports beyond `MAX_READ` places, which are in no row.
    """

    reports: int = 0
    by_reason: Sequence[tuple[str, int]] = ()
    views: int | None = None
    first_on: date | None = None
    rows: Sequence[HangRow] = ()
    row_count: int = 0
    unread: int = 0

    def per_10000(self, reports: int) -> float | None:
        """Returns reports per 10,000 page views; None if the number of views is not known."""
        return reports * 10_000 / self.views if self.views else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stack:
    """The reports of one release, page, reason and stack."""

    release: str
    page: str
    reason: int
    signature: UUID
    stack_state: int
    frames: str  # JSON, as Django's cursors give it
    originals: str | None  # likewise
    reports: int
    first_on: date
    first_at: datetime
    last_at: datetime
    all_reports: int
    reason_reports: int
    all_first_on: date

    def list_frames(self) -> list[HangFrame]:
        stored = json.loads(self.frames)
        originals = json.loads(self.originals) if self.originals else [None] * len(stored)
        return [
            HangFrame(
                frame=CallFrame(name=name, uri=uri, line=line, column=column, is_eval=is_eval),
                original=None if original is None else OriginalCall(*original),
            )
            for (name, uri, line, column, is_eval), original in zip(stored, originals, strict=True)
        ]


def select_hangs(slice_: Slice, *, limit: int) -> HangTable:
    """Returns the hangs of a slice. One statement; some more if there are any."""
    days = replace(
        Slice(project_id=slice_.project_id, releases=slice_.releases, pages=slice_.pages),
        ranges=widen_to_days(slice_.ranges),
    )
    stacks = _select_stacks(days)
    if not stacks:
        return HangTable()
    first = stacks[0]
    rows = _group(slice_.project_id, stacks)
    by_reason = {HANG_REASONS[stack.reason]: stack.reason_reports for stack in stacks}
    return HangTable(
        reports=first.all_reports,
        by_reason=sorted(by_reason.items(), key=lambda pair: (-pair[1], pair[0])),
        views=estimate_recorded(days, first.all_first_on) or None,
        first_on=first.all_first_on,
        rows=rows[:limit],
        row_count=len(rows),
        unread=first.all_reports - sum(stack.reports for stack in stacks),
    )


def count_unresponsive_days(days: Slice) -> dict[date, int]:
    """Returns the reports of pages that did not answer, by UTC day, of a slice of whole days. One statement."""
    where, params = _conditions(days)
    rows = select_rows(
        f"""SELECT h.day_on, sum(h.reports)::bigint FROM ingest_hangcount h
            WHERE {where} AND h.reason = {UNRESPONSIVE} GROUP BY 1""",
        params,
    )
    return dict(rows)


def _conditions(days: Slice) -> tuple[str, dict[str, Any]]:  # Any: parameters of a statement
    in_time, params = where_utc_days(days.ranges, "h.day_on")
    conditions = ["h.project_id = %(project_id)s", in_time]
    for column, values in ("release", days.releases), ("page", days.pages):
        if values:
            conditions.append(f"h.{column} = ANY(%({column}s)s::text[])")
            params[f"{column}s"] = list(values)
    return " AND ".join(conditions), {"project_id": days.project_id, **params}


def _select_stacks(days: Slice) -> list[_Stack]:
    """Returns the reports of a slice by release, page, reason and stack, the most first."""
    where, params = _conditions(days)
    return select_records(
        _Stack,
        f"""SELECT s.*, (sum(s.reports) OVER ())::bigint AS all_reports,
                   (sum(s.reports) OVER (PARTITION BY s.reason))::bigint AS reason_reports,
                   min(s.first_on) OVER () AS all_first_on
            FROM (SELECT h.release, h.page, h.reason, h.signature, min(h.stack_state) AS stack_state,
                         (array_agg(h.frames ORDER BY h.day_on DESC))[1] AS frames,
                         (array_agg(h.originals ORDER BY h.day_on DESC))[1] AS originals,
                         sum(h.reports)::bigint AS reports, min(h.day_on) AS first_on, min(h.first_at) AS first_at,
                         max(h.last_at) AS last_at
                  FROM ingest_hangcount h WHERE {where}
                  GROUP BY h.release, h.page, h.reason, h.signature) AS s
            ORDER BY s.reports DESC, s.last_at DESC, s.release, s.page, s.signature LIMIT {MAX_READ}""",
        params,
    )


def _group(project_id: int, stacks: Sequence[_Stack]) -> list[HangRow]:
    """Returns a row for each function, or else for each reason and state of the stack; the most reports first."""
    frames = [stack.list_frames() for stack in stacks]
    tops = [next((frame for frame in listed if frame.frame.uri), None) for listed in frames]
    spots: list[Spot | None] = [
        (stack.release, top.frame) if top else None for stack, top in zip(stacks, tops, strict=True)
    ]
    functions = find_functions(project_id, [spot for spot in spots if spot])
    members: dict[Hashable, list[int]] = {}
    for number, (stack, top, spot) in enumerate(zip(stacks, tops, spots, strict=True)):
        function = functions.get(spot) if spot else None
        members.setdefault((stack.reason, _key_of(stack, top, function)), []).append(number)
    rows = []
    for numbers in members.values():
        most = numbers[0]  # stacks are in the order of their reports
        spot = spots[most]
        function = functions.get(spot) if spot else None
        rows.append(_make_row([stacks[n] for n in numbers], tops[most], function, frames[most]))
    return sorted(rows, key=lambda row: -row.reports)


def _key_of(stack: _Stack, top: HangFrame | None, function: HungFunction | None) -> Hashable:
    if function is not None:
        return "function", function.row_id
    if top is None:
        return "state", stack.stack_state
    if top.original is not None and top.original.name:
        return "original", top.original.source, top.original.name
    return "call", top.frame


def _make_row(
    stacks: Sequence[_Stack], top: HangFrame | None, function: HungFunction | None, frames: Sequence[HangFrame]
) -> HangRow:
    pages: Counter[str] = Counter()
    for stack in stacks:
        pages[stack.page] += stack.reports
    first, last = min(stacks, key=lambda stack: stack.first_at), max(stacks, key=lambda stack: stack.last_at)
    return HangRow(
        reason=HANG_REASONS[stacks[0].reason],
        stack_state=STACK_STATES[stacks[0].stack_state],
        reports=sum(stack.reports for stack in stacks),
        first_at=first.first_at,
        last_at=last.last_at,
        first_release=first.release,
        last_release=last.release,
        pages=pages.most_common(MAX_PAGES),
        page_count=len(pages),
        stack_count=len({stack.signature for stack in stacks}),
        top=top,
        function=function,
        frames=frames,
    )
