"""Two slices that are compared: the fields they share, and the fields of each side."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode

from aggregate.selectors.slice.slices import SLICE_FIELDS, VALUE_FIELDS, Slice, SliceError, SliceQuery, resolve_slice

BASE: Final = "base"
HEAD: Final = "head"
# A side's own fields, in the words of the read API: base_release, base_page and so on.
SIDE_FIELDS: Final = tuple(f"{side}_{field}" for side in (BASE, HEAD) for field in SLICE_FIELDS)


def has_sides(base: SliceQuery, head: SliceQuery) -> bool:
    """Returns whether a side has any field of its own."""
    return any(side.get(field) for side in (base, head) for field in SLICE_FIELDS)


def resolve_sides(common: Slice, base: SliceQuery, head: SliceQuery) -> tuple[Slice, Slice]:
    """Returns both sides: the common slice with the fields of each side. Both sides must give the same fields.

    Raises `SliceError`, which names the side's field.
    """
    if not has_sides(base, head):
        raise SliceError("base_release", "base_release must name a release, or base_page a page, and so on.")
    shared = dict(common.params())
    for field in SLICE_FIELDS:
        values_of_side = {side: query.get(field, ()) for side, query in ((BASE, base), (HEAD, head))}
        if not any(values_of_side.values()):
            continue
        for side, opposite in ((BASE, HEAD), (HEAD, BASE)):
            # A span of time may be open on one side.
            if not values_of_side[side] and field not in ("from", "to"):
                raise SliceError(f"{side}_{field}", f"{side}_{field} must be given, as {opposite}_{field} is.")
        if field in shared or (field in ("from", "to") and common.ranges):
            raise SliceError(field, f"A comparison takes base_{field} and head_{field}, or {field} for both; not all.")
    return _resolve(common, BASE, base), _resolve(common, HEAD, head)


def pairs_of_sides(common: Slice, base: Slice, head: Slice) -> list[tuple[str, str]]:
    """Returns the fields of each side as query parameters, which resolve to both sides with the common slice's."""
    shared = common.params()
    return [
        (f"{side}_{field}", value)
        for side, slice_ in ((BASE, base), (HEAD, head))
        for field, value in slice_.params()
        if field in SLICE_FIELDS and (field, value) not in shared
    ]


def query_of_sides(common: Slice, base: Slice, head: Slice) -> str:
    """Returns both sides as query parameters, which resolve to them again."""
    pairs = pairs_of_sides(common, base, head)
    return "&".join(part for part in (urlencode(pairs, safe="/:"), common.query()) if part)


def may_share(base: Sequence[str], head: Sequence[str]) -> bool:
    """Returns whether views of both sides may have the same value of a field, given the values that each side names."""
    return not (base and head) or bool(set(base) & set(head))


def may_share_devices(base: Slice, head: Slice) -> bool:
    """Returns whether views of both sides may be of one device class, and recorded by one SDK."""
    return all(may_share(base.values(name), head.values(name)) for name in ("device", "sdk"))


def may_share_starts(base: Slice, head: Slice) -> bool:
    """Returns whether views of both sides may have begun alike: by the same navigation, with the same cache."""
    return all(may_share(base.values(name), head.values(name)) for name in ("navigation", "cache"))


def are_releases(base: Slice, head: Slice) -> bool:
    """Returns whether two sides are one release each, and differ in nothing else."""
    has_one = len(base.releases) == len(head.releases) == 1 and base.releases != head.releases
    return has_one and replace(base, releases=()) == replace(head, releases=())


def name_sides(base: Slice, head: Slice) -> tuple[str, str]:
    """Returns short names of two sides: the values in which they differ; "all" without any."""
    base_params, head_params = base.params(), head.params()
    names = [
        ", ".join(value for name, value in side if (name, value) not in rest)
        for side, rest in ((base_params, head_params), (head_params, base_params))
    ]
    return names[0] or "all", names[1] or "all"


def unite(base: Slice, head: Slice) -> Slice:
    """Returns the smallest slice that contains both sides."""

    def both(first: tuple[Any, ...], second: tuple[Any, ...]) -> tuple[Any, ...]:  # Any: values of one field
        return tuple(dict.fromkeys((*first, *second))) if first and second else ()

    whole = replace(base, ranges=both(base.ranges, head.ranges))
    for field in VALUE_FIELDS:
        whole = whole.with_values(field, *both(base.values(field), head.values(field)))
    return whole


def _resolve(common: Slice, side: str, query: SliceQuery) -> Slice:
    try:
        side_slice = resolve_slice(common.project_id, query)
    except SliceError as error:
        raise SliceError(f"{side}_{error.field}", f"{side}_{error.detail}") from error
    settled = replace(common, ranges=side_slice.ranges or common.ranges)
    for field in VALUE_FIELDS:
        settled = settled.with_values(field, *(side_slice.values(field) or common.values(field)))
    return settled
