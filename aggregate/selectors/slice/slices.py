"""Slices: what a person asks about, checked once, and its conditions on cells."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.db import connection

from aggregate.models import DAY_GRAIN
from aggregate.sql import leave_out
from profcore.code.display_rules import DISPLAY_ID
from profcore.code.identity import MAPPED_ID
from profcore.times import DAY, HOUR, start_of_day, start_of_hour
from profcore.trace.dimensions import CAPTURES, DIMENSIONS
from profcore.trace.wire import MAX_EPOCH_MS, MIN_EPOCH_MS

MAX_VALUES: Final = 100  # of one field; a URL with that many releases is near the limit of proxies
ISO_DAY_CHARS: Final = 8  # of ISO 8601's basic form, such as 20261120
LATEST: Final = datetime.max.replace(tzinfo=UTC)

# An unescaped + in a query string arrives as a space.
UNESCAPED_PLUS: Final = re.compile(r"(?<=\d) (?=\d\d:?\d\d$)")

FUNC_OVER: Final = re.compile(r"([0-9]{1,10}|m[0-9a-f]{20}):([0-9]{1,9}(?:\.[0-9]{1,6})?)")
MAX_FUNC_ID: Final = 2**31 - 1
FUNC_ID: Final = re.compile(r"[0-9]{1,10}")

TimeRange = tuple[datetime | None, datetime | None]


class SliceError(ValueError):
    """A field of a slice has no usable value: the field's name and a sentence."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(detail)
        self.field = field
        self.detail = detail


# A slice that is not checked yet: the values of each field, in the words of the read API. None means all.
SliceQuery = dict[str, Sequence[str]]

DIMENSION_FIELDS: Final = tuple(dimension.name for dimension in DIMENSIONS)
SLICE_FIELDS: Final = ("release", "page", "from", "to", *DIMENSION_FIELDS)
# The fields with values that cells have, and where `Slice` keeps those that are no dimension.
VALUE_FIELDS: Final = ("release", "page", *DIMENSION_FIELDS)
PLACE_ATTRIBUTES: Final[Mapping[str, str]] = {"release": "releases", "page": "pages"}
# Fields that are finer than a cell: answered from views' contributions or raw traces.
FINE_FIELDS: Final = ("view", "trace", "tag", "func_over")
# How functions are shown: no filter, but links keep it with the slice. `none` means without the display rules.
DISPLAY: Final = "display"
AS_STORED: Final = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Slice:
    """A checked slice of one project. Empty means all.

    `ranges` are half-open `[from, to)`, aware, rounded outwards to whole buckets; None is an open end. A cell is in
    the slice if it is in any of them. `dimensions` are (name, value), in the order of `DIMENSIONS`.

    The other fields are finer than cells. A view or trace must be one of `views` or `traces`. A trace must have all
    `tags` (key, value). In a view, each function of `func_over` (id, µs) must have a greater total.

    With `as_stored`, functions are shown as they are stored, without the project's display rules.
    """

    project_id: int
    _: KW_ONLY
    releases: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    ranges: tuple[TimeRange, ...] = ()
    dimensions: tuple[tuple[str, str], ...] = ()
    views: tuple[UUID, ...] = ()
    traces: tuple[UUID, ...] = ()
    tags: tuple[tuple[str, str], ...] = ()
    func_over: tuple[tuple[int | str, int], ...] = ()
    as_stored: bool = False

    @property
    def is_fine(self) -> bool:
        """Returns whether the slice is finer than cells."""
        return bool(self.views or self.traces or self.tags or self.func_over)

    @property
    def has_dimensions(self) -> bool:
        """Returns whether it names a dimension that cells have and their roll-up has not."""
        return bool(self.dimensions)

    def values(self, field: str) -> tuple[str, ...]:
        """Returns the values of one of `VALUE_FIELDS`."""
        if field not in PLACE_ATTRIBUTES:
            return tuple(value for name, value in self.dimensions if name == field)
        values: tuple[str, ...] = getattr(self, PLACE_ATTRIBUTES[field])
        return values

    def with_values(self, field: str, *values: str) -> "Slice":
        """Returns the slice with other values of one of `VALUE_FIELDS`."""
        if field in PLACE_ATTRIBUTES:
            return replace(self, **{PLACE_ATTRIBUTES[field]: values})  # type: ignore[arg-type]  # both hold texts
        pairs = [pair for pair in self.dimensions if pair[0] != field] + [(field, value) for value in values]
        return replace(self, dimensions=tuple(sorted(pairs, key=lambda pair: DIMENSION_FIELDS.index(pair[0]))))

    def with_slow_views(self) -> "Slice":
        """Returns the slice with the views of which only slow moments were kept too, unless it says which it wants."""
        return self if self.values("capture") else self.with_values("capture", *CAPTURES)

    @property
    def tree_source(self) -> str:
        """The source of its call tree: `cells` or `raw` traces."""
        return "raw" if self.is_fine else "cells"

    @property
    def from_at(self) -> datetime | None:
        """The earliest start, None if it is open."""
        starts = [start for start, _ in self.ranges]
        return min((start for start in starts if start is not None), default=None) if None not in starts else None

    @property
    def to_at(self) -> datetime | None:
        """The latest end, None if it is open."""
        ends = [end for _, end in self.ranges]
        return max((end for end in ends if end is not None), default=None) if None not in ends else None

    def params(self) -> list[tuple[str, str]]:
        """Returns the slice as query parameters, which resolve to this slice again."""
        pairs = [("release", release) for release in self.releases] + [("page", page) for page in self.pages]
        for start, end in self.ranges:
            pairs += [("from", format_instant(start))] if start else []
            pairs += [("to", format_instant(end))] if end else []
        pairs += self.dimensions
        pairs += [("view", str(view)) for view in self.views] + [("trace", str(trace)) for trace in self.traces]
        pairs += [("tag", f"{key}:{value}") for key, value in self.tags]
        pairs += [("func_over", f"{func}:{us / 1000:.15g}") for func, us in self.func_over]
        return pairs + ([(DISPLAY, AS_STORED)] if self.as_stored else [])

    def query(self) -> str:
        """Returns the slice as a query string, "" if it is the whole project."""
        return urlencode(self.params(), safe="/:")


def format_instant(at: datetime) -> str:
    """Returns an aware UTC time as ISO 8601 with a `Z`, to the second: buckets have no finer bounds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def resolve_slice(project_id: int, query: SliceQuery) -> Slice:
    """Returns the checked slice of a query, with times rounded outwards to buckets. Raises `SliceError`.

    Buckets are hours, or days if their hours were merged. Asks the database only if there is a time to round.
    """
    return Slice(
        project_id=project_id,
        releases=_read_texts("release", query.get("release", ())),
        pages=_read_texts("page", query.get("page", ())),
        ranges=_read_ranges(project_id, query.get("from", ()), query.get("to", ())),
        dimensions=tuple(
            (dimension.name, value)
            for dimension in DIMENSIONS
            for value in _read_choices(dimension.name, query.get(dimension.name, ()), dimension.values)
        ),
        views=_read_uuids("view", query.get("view", ())),
        traces=_read_uuids("trace", query.get("trace", ())),
        tags=_read_tags(query.get("tag", ())),
        func_over=_read_func_over(query.get("func_over", ())),
        as_stored=bool(_read_choices(DISPLAY, query.get(DISPLAY, ()), (AS_STORED,))),
    )


def _read_uuids(field: str, values: Sequence[str]) -> tuple[UUID, ...]:
    try:
        return tuple(UUID(value) for value in _read_texts(field, values))
    except ValueError:
        raise SliceError(field, f"{field} must be a UUID, such as 0e5f7a54-2f0d-5c0b-8f0e-3b1f2a9d7c11.") from None


def _read_tags(values: Sequence[str]) -> tuple[tuple[str, str], ...]:
    pairs = [value.partition(":") for value in _read_texts("tag", values)]
    if any(not key or not colon for key, colon, _ in pairs):
        raise SliceError("tag", "tag must be key:value.")
    return tuple((key, value) for key, _, value in pairs)


def _read_func_over(values: Sequence[str]) -> tuple[tuple[int | str, int], ...]:
    pairs: list[tuple[int | str, int]] = []
    for value in _read_texts("func_over", values):
        match = FUNC_OVER.fullmatch(value)
        func = read_func_id(match[1]) if match else None
        if match is None or func is None:
            raise SliceError("func_over", f"func_over must be a func's id, a colon and ms; not {value[:80]!r}.")
        pairs.append((func, round(float(match[2]) * 1000)))
    return tuple(pairs)


def read_func_id(text: str) -> int | str | None:
    """Returns the id of a function as tables have it, None if the text is not an id."""
    if MAPPED_ID.fullmatch(text) or DISPLAY_ID.fullmatch(text):
        return text
    return int(text) if FUNC_ID.fullmatch(text) and int(text) <= MAX_FUNC_ID else None


def _read_texts(field: str, values: Sequence[str]) -> tuple[str, ...]:
    if len(values) > MAX_VALUES:
        raise SliceError(field, f"{field} is given {len(values)} times; at most {MAX_VALUES} are accepted.")
    if any("\0" in value for value in values):
        raise SliceError(field, f"{field} must not contain a NUL character.")
    return tuple(dict.fromkeys(values))


def _read_choices(field: str, values: Sequence[str], choices: Sequence[str]) -> tuple[str, ...]:
    for value in values:
        if value not in choices:
            raise SliceError(field, f"{field} must be one of {', '.join(choices)}; not {value[:80]!r}.")
    return _read_texts(field, values)


def _read_ranges(project_id: int, from_: Sequence[str], to: Sequence[str]) -> tuple[TimeRange, ...]:
    starts: list[datetime | None] = [_read_instant("from", text) for text in _read_texts_in_order("from", from_)]
    ends: list[datetime | None] = [_read_instant("to", text) for text in _read_texts_in_order("to", to)]
    if not starts and not ends:
        return ()
    if max(len(starts), len(ends)) > 1 and len(starts) != len(ends):
        raise SliceError("from", "from and to are paired in order: several of one need as many of the other.")
    pairs = list(zip(starts or [None], ends or [None], strict=True))
    for start, end in pairs:
        if start is not None and end is not None and start >= end:
            raise SliceError("to", "to must be later than from.")
    days = _find_merged_days(project_id, [at for pair in pairs for at in pair if at is not None])
    return tuple((start and _floor_bucket(start, days), end and _ceil_bucket(end, days)) for start, end in pairs)


def _read_texts_in_order(field: str, values: Sequence[str]) -> Sequence[str]:
    _read_texts(field, values)
    return values


def _read_instant(field: str, text: str) -> datetime:
    """Returns the moment that a text names: ISO 8601 (UTC if it has no zone) or epoch milliseconds.

    A number that is no time of a trace, such as epoch seconds, is refused: it would pick the whole project.
    """
    try:
        if text.isascii() and text.isdigit() and len(text) != ISO_DAY_CHARS:
            epoch_ms = int(text[:16])
            if not MIN_EPOCH_MS <= epoch_ms <= MAX_EPOCH_MS:
                raise ValueError
            return datetime.fromtimestamp(epoch_ms / 1000, UTC)
        at = datetime.fromisoformat(UNESCAPED_PLUS.sub("+", text) if "T" in text else text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        detail = f"{field} must be an ISO 8601 time or epoch milliseconds, from the years 2000 to 2099"
        raise SliceError(field, f"{detail}; not {text[:80]!r}.") from None


def _find_merged_days(project_id: int, instants: Sequence[datetime]) -> frozenset[datetime]:
    """Returns the days of `instants`, by their midnights, that have day cells."""
    wanted = sorted({start_of_day(at) for at in instants})
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT d.day FROM unnest(%s::timestamptz[]) AS d (day)
               WHERE EXISTS (SELECT FROM aggregate_cell c WHERE c.project_id = %s AND c.grain = {DAY_GRAIN}
                             AND c.merged_into IS NULL AND c.starts_at = d.day)""",
            [wanted, project_id],
        )
        return frozenset(row[0] for row in cursor)


def _floor_bucket(at: datetime, days: frozenset[datetime]) -> datetime:
    midnight = start_of_day(at)
    return midnight if midnight in days else start_of_hour(at)


def _ceil_bucket(at: datetime, days: frozenset[datetime]) -> datetime:
    floor = _floor_bucket(at, days)
    if floor == at:
        return at
    size = DAY if start_of_day(at) in days else HOUR
    return floor + size if floor < LATEST - size else at


def where_slice(slice_: Slice) -> tuple[str, dict[str, Any]]:  # Any: parameters of a statement
    """Returns the condition on cells `c` joined with groups `g`, and its parameters. Fine fields are ignored.

    Cells merged into a day are left out: the day's cell has their sums. So are bots and all but production, unless the
    slice asks for them.
    """
    where, params = _conditions(slice_, "c", "c.starts_at")
    return f"{where}{_leave_out(slice_, 'c')} AND c.merged_into IS NULL", params


def where_days(slice_: Slice) -> tuple[str, dict[str, Any]] | None:  # Any: as above
    """Returns the same condition on the roll-up's days `c` joined with groups `g`; None if cells must be read.

    The roll-up knows whole UTC days and no dimension, and has only what counts without any.
    """
    bounds = [at for pair in slice_.ranges for at in pair if at is not None]
    if slice_.has_dimensions or any(at != start_of_day(at) for at in bounds):
        return None
    return _conditions(slice_, "c", "c.day_at")


def where_rolled(slice_: Slice) -> tuple[str, str] | None:
    """Returns the conditions on the roll-up's groups `g`, and on the cells `p` that the roll-up replaces.

    None if cells must be read: the roll-up has all dimensions of a group's day together. It replaces
    the rolled cells of days that are entirely in the slice. The first condition has no time. The parameters are those
    of `where_slice`.
    """
    if slice_.has_dimensions:
        return None
    where, _ = _conditions(replace(slice_, ranges=()), "g", "")
    if not slice_.ranges:
        return where, "p.is_rolled"
    return where, f"p.is_rolled AND {_is_whole(DAY_OF_CELL)}"


DAY_OF_CELL: Final = "date_trunc('day', p.starts_at, 'UTC')"


def _is_whole(day: str) -> str:
    return (
        "EXISTS (SELECT FROM unnest(%(starts)s::timestamptz[], %(ends)s::timestamptz[]) AS b (f, t)"
        f" WHERE {day} >= COALESCE(b.f, '-infinity') AND {day} + interval '24 hours' <= COALESCE(b.t, 'infinity'))"
    )


def where_arrived(slice_: Slice, table: str, column: str) -> tuple[str, dict[str, Any]]:  # Any: as above
    """Returns the condition that a row of the project lies in the slice's time. It ignores the slice's other fields."""
    return _conditions(Slice(project_id=slice_.project_id, ranges=slice_.ranges), table, f"{table}.{column}")


def where_receipts(slice_: Slice) -> tuple[str, dict[str, Any]]:  # Any: as above
    """Returns the condition of the slice on receipts `r` joined with groups `g`, by the facts of each trace."""
    where, params = _conditions(slice_, "r", "r.view_started_at")
    return f"{where}{_leave_out(slice_, 'r')}", params


def _leave_out(slice_: Slice, table: str) -> str:
    """Returns the condition that leaves out bots and what is no production, as far as the slice does not name it.

    None if it names a view or a trace. The roll-ups have only what counts, so they need none.
    """
    if slice_.views or slice_.traces:
        return ""
    return f" AND {leave_out(table, [name for name, _ in slice_.dimensions])}"


def _conditions(slice_: Slice, table: str, start: str) -> tuple[str, dict[str, Any]]:  # Any: as above
    conditions = [f"{table}.project_id = %(project_id)s"]
    params: dict[str, Any] = {"project_id": slice_.project_id}
    if slice_.releases:
        conditions.append("g.release = ANY(%(releases)s::text[])")
        params["releases"] = list(slice_.releases)
    if slice_.pages:
        conditions.append("g.page = ANY(%(pages)s::text[])")
        params["pages"] = list(slice_.pages)
    for dimension in DIMENSIONS:
        if values := slice_.values(dimension.name):
            conditions.append(f"{table}.{dimension.column} = ANY(%({dimension.plural})s::smallint[])")
            params[dimension.plural] = [dimension.values.index(value) for value in values]
    if slice_.ranges:
        conditions.append(
            "EXISTS (SELECT FROM unnest(%(starts)s::timestamptz[], %(ends)s::timestamptz[]) AS b (f, t)"
            f" WHERE {start} >= COALESCE(b.f, '-infinity') AND {start} < COALESCE(b.t, 'infinity'))"
        )
        params["starts"] = [start for start, _ in slice_.ranges]
        params["ends"] = [end for _, end in slice_.ranges]
    return " AND ".join(conditions), params


FROM_CELLS: Final = "FROM aggregate_cell c JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id"
FROM_DAYS: Final = "FROM aggregate_pageday c JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id"
