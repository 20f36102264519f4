"""The two sides of a comparison: as the page's address names them, their defaults, and their names."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from django.http import QueryDict

from aggregate.selectors.project.last_release import HasViews, pick_last_releases
from aggregate.selectors.project.pages import ReleaseRow
from aggregate.selectors.slice.sides import BASE, HEAD, SIDE_FIELDS, has_sides, pairs_of_sides, resolve_sides
from aggregate.selectors.slice.slices import SLICE_FIELDS, VALUE_FIELDS, Slice, SliceError, SliceQuery
from alerts.bases import BaseChoice, Rollback
from dashboard.layout.shell import Shell
from dashboard.web.params import read_side
from ingest.storage.groups import OTHER
from profcore.trace.dimensions import DEVICE_CLASSES

SIDE_WORDS: Final[Mapping[str, str]] = {BASE: "the “before” side", HEAD: "the “after” side"}
DESKTOPS: Final = tuple(word for word in DEVICE_CLASSES if word.startswith("desktop"))
PHONES: Final = tuple(word for word in DEVICE_CLASSES if word.startswith("mobile"))


@dataclass(frozen=True, slots=True)
class SideQueries:
    """Both sides as an address names them, unchecked; empty if it names none."""

    base: SliceQuery
    head: SliceQuery

    @property
    def is_empty(self) -> bool:
        """Returns whether no side names anything."""
        return not has_sides(self.base, self.head)

    def of(self, side: str) -> SliceQuery:
        """Returns the side `base` or `head`."""
        return self.base if side == BASE else self.head

    def pairs(self) -> list[tuple[str, str]]:
        """Returns them as query parameters."""
        return [
            (f"{side}_{field}", value)
            for side in (BASE, HEAD)
            for field in SLICE_FIELDS
            for value in self.of(side).get(field, ())
        ]


@dataclass(frozen=True, slots=True)
class Sides:
    """Two checked slices. `common` is what both share, without the fields in which they differ.

    If no address named them, `passed_over` are newer releases than the base that were rolled back.
    """

    common: Slice
    base: Slice
    head: Slice
    passed_over: tuple[Rollback, ...] = ()

    def pairs(self) -> list[tuple[str, str]]:
        """Returns what each side has of its own as query parameters."""
        return pairs_of_sides(self.common, self.base, self.head)

    def params(self) -> list[tuple[str, str]]:
        """Returns everything as query parameters, which lead to the same sides again."""
        return [*self.common.params(), *self.pairs()]

    @property
    def side_fields(self) -> frozenset[str]:
        """The fields that a side has of its own; time is `from`."""
        names = {name.partition("_")[2] for name, _ in self.pairs()}
        return frozenset("from" if name == "to" else name for name in names)

    @property
    def are_equal(self) -> bool:
        """Returns whether both sides are one slice."""
        return self.base == self.head


def read_side_queries(params: QueryDict) -> SideQueries:
    """Returns the sides in an address; empty fields, as forms send, name nothing."""
    without_empty = QueryDict(mutable=True)
    for field in SIDE_FIELDS:
        without_empty.setlist(field, [value for value in params.getlist(field) if value])
    return SideQueries(read_side(without_empty, BASE), read_side(without_empty, HEAD))


def settle_sides(slice_: Slice, queries: SideQueries) -> Sides:
    """Returns the sides that an address names, within a slice.

    If only one side names a field, the other side has the slice's value. Raises `SliceError`, which names
    the side's field.
    """
    common, query_of_side = slice_, {BASE: queries.base, HEAD: queries.head}
    for field in VALUE_FIELDS:
        if not any(query.get(field) for query in query_of_side.values()):
            continue
        shared = slice_.values(field)
        for side in (BASE, HEAD):
            if not shared and not query_of_side[side].get(field):
                problem = f"Choose a {field} for {SIDE_WORDS[side]} too, or for neither side."
                raise SliceError(f"{side}_{field}", problem)
        query_of_side = {side: {**query, field: query.get(field) or shared} for side, query in query_of_side.items()}
        common = common.with_values(field)
    if any(query.get("from") or query.get("to") for query in query_of_side.values()):
        params = Slice(project_id=slice_.project_id, ranges=slice_.ranges).params()
        spans = {field: [value for name, value in params if name == field] for field in ("from", "to")}
        query_of_side = {
            side: query if query.get("from") or query.get("to") else query | spans
            for side, query in query_of_side.items()
        }
        common = replace(common, ranges=())
    base, head = resolve_sides(common, query_of_side[BASE], query_of_side[HEAD])
    return Sides(common, base, head)


def take_first(_head: str, candidates: Sequence[str]) -> BaseChoice:
    """Returns the newest of the releases that a head may be compared with."""
    return BaseChoice(candidates[0])


def find_default_sides(
    slice_: Slice,
    in_slice: Sequence[HasViews],
    releases: Sequence[ReleaseRow],
    choose: Callable[[str, Sequence[str]], BaseChoice] = take_first,
) -> Sides | None:
    """Returns the last release of a slice and the one before it as sides, as the verdict has them; None without two.

    `in_slice` are the slice's releases and `releases` the project's, the newest first. If the slice has no page views
    of two releases, they are those of the project; the first release is compared with the one after it. `choose` gets
    the head and those before it, the newest first.
    """
    wanted = [row for row in releases if not slice_.releases or row.release in slice_.releases]
    picked = pick_last_releases(slice_, in_slice, releases) or pick_last_releases(slice_, wanted, releases)
    if picked is None:
        picked = _pick_first(slice_, releases)
    if picked is None:
        return None
    candidates, head = picked
    base, common = choose(head, candidates), replace(slice_, releases=())
    before, after = replace(common, releases=(base.release,)), replace(common, releases=(head,))
    return Sides(common, before, after, base.passed_over)


def _pick_first(slice_: Slice, releases: Sequence[ReleaseRow]) -> tuple[Sequence[str], str] | None:
    """Returns the project's first release as base of the second one, if it is the slice's."""
    names = [row.release for row in releases if row.views and row.release != OTHER]
    return (names[-1:], names[-2]) if len(names) > 1 and list(slice_.releases) == names[-1:] else None


def trim_bar(shell: Shell, side_fields: frozenset[str], *, has_tags: bool) -> Shell:
    """Returns the shell without the fields of the slice bar that each side has of its own."""
    if shell.bar is None:
        return shell
    fields = [field for field in shell.bar.fields if field.name not in side_fields]
    return replace(shell, bar=replace(shell.bar, fields=fields, has_time="from" not in side_fields, has_tags=has_tags))


@dataclass(frozen=True, slots=True, kw_only=True)
class SideName:
    """The name of a side, made of its own fields. `start` and `end` are its time, if it has its own."""

    names: Sequence[str]
    start: datetime | None
    end: datetime | None
    has_time: bool
    is_release: bool  # and nothing else


def name_side(sides: Sides, side: Slice) -> SideName:
    """Returns the name of one of two sides."""
    side_fields = sides.side_fields
    names = [_name_values(field, side.values(field)) for field in VALUE_FIELDS if field in side_fields]
    return SideName(
        names=names,
        start=side.from_at,
        end=side.to_at,
        has_time="from" in side_fields,
        is_release=side_fields == {"release"},
    )


def _name_values(field: str, values: Sequence[str]) -> str:
    if field == "device" and set(values) == set(DESKTOPS):
        return "desktops"
    if field == "device" and set(values) == set(PHONES):
        return "phones"
    return ", ".join(values)
