"""Labels: what a selector with its time means as a slice. Values of closed sets are compared here, not in SQL."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from aggregate.selectors.project.label_sums import select_label_values
from aggregate.selectors.slice.slices import (
    PLACE_ATTRIBUTES,
    VALUE_FIELDS,
    Slice,
    SliceError,
    SliceQuery,
    resolve_slice,
)
from dashboard.web.params import ParamError
from profcore.formats.pyroscope.matchers import LabelMatcher, SelectorError, parse_selector
from profcore.formats.pyroscope.profile_types import PROFILE_TYPES, TYPE_OF_ID, ProfileType
from profcore.trace.dimensions import DIMENSIONS
from projects.models import Project

SERVICE: Final = "service_name"  # by which Grafana groups; here the project
TYPE: Final = "__profile_type__"
LABELS: Final = (SERVICE, *VALUE_FIELDS)
# Values of one label that a pattern or a negation may leave: the statement has them all.
MAX_MATCHED: Final = 1_000
MAX_SELECTORS: Final = 10  # of one request


@dataclass(frozen=True, slots=True)
class Selected:
    """What a selector means: a slice, and the types of profiles."""

    slice_: Slice
    types: Sequence[ProfileType]


def resolve_selector(project: Project, selector: str, *, start_ms: int, end_ms: int) -> Selected | None:
    """Returns what a selector means in a time, None if nothing can match. Without any time it is all time.

    Raises `ParamError` for a selector that cannot be read or has an unknown label, and `SliceError`.
    """
    try:
        matchers = parse_selector(selector)
    except SelectorError as error:
        raise ParamError("label_selector", str(error)) from None
    by_label: dict[str, list[LabelMatcher]] = {}
    for matcher in matchers:
        check_label(matcher.label, (*LABELS, TYPE))
        by_label.setdefault(matcher.label, []).append(matcher)
    services = _accepted((project.slug,), by_label.pop(SERVICE, []))
    accepted = _accepted([type_.id for type_ in PROFILE_TYPES], by_label.pop(TYPE, []))
    named: SliceQuery = dict(_named(by_label))
    times: SliceQuery = {"from": [str(start_ms)], "to": [str(end_ms)]} if start_ms or end_ms else {}
    slice_: Slice | None = resolve_slice(project.pk, times | named) if all(named.values()) else None
    for dimension in DIMENSIONS:
        if slice_ and (conditions := by_label.pop(dimension.name, [])):
            slice_ = _narrow(slice_, dimension.name, _accepted(dimension.values, conditions))
    for label, conditions in by_label.items():
        if slice_ and label not in named:
            slice_ = _narrow_listed(slice_, label, conditions)
    types = [type_ for type_ in PROFILE_TYPES if type_.id in accepted]
    return Selected(slice_, types) if slice_ and services and types else None


def resolve_selectors(
    project: Project, selectors: Sequence[str], *, start_ms: int, end_ms: int, labels: Sequence[str]
) -> Iterator[Selected]:
    """Yields what each of some selectors means; without any, all. What counts only where it is named is listed too."""
    if len(selectors) > MAX_SELECTORS:
        raise ParamError("matchers", f"At most {MAX_SELECTORS} selectors are accepted.")
    for selector in selectors or ("",):
        selected = resolve_selector(project, selector, start_ms=start_ms, end_ms=end_ms)
        if selected is not None:
            yield replace(selected, slice_=_with_left_out(selected.slice_, labels))


def resolve_question(project: Project, question: Any) -> tuple[ProfileType, Slice | None]:  # Any: a message
    """Returns the type of profile and the slice that are asked for; None for a slice that cannot have anything.

    Raises `ParamError` and `SliceError`, as for a question of all time: Pyroscope refuses that too.
    """
    type_ = TYPE_OF_ID.get(question.profile_typeID)
    if type_ is None:
        known = ", ".join(TYPE_OF_ID)
        raise ParamError("profile_typeID", f"There is no profile type {question.profile_typeID[:80]!r}, but {known}.")
    if not question.start or not question.end:
        raise ParamError("start", "start and end must be milliseconds since 1970.")
    selected = resolve_selector(project, question.label_selector, start_ms=question.start, end_ms=question.end)
    return type_, selected.slice_ if selected and type_ in selected.types else None


def check_label(label: str, known: Sequence[str] = LABELS) -> None:
    """Raises `ParamError` for an unknown label."""
    if label not in known:
        raise ParamError("label", f"There is no label {label[:80]!r}. The labels are {', '.join(LABELS)}.")


def _with_left_out(slice_: Slice, labels: Sequence[str]) -> Slice:
    """Returns a slice with the values that count only where they are named, such as bots, of some labels."""
    for dimension in DIMENSIONS:
        if dimension.name in labels and dimension.left_out and not slice_.values(dimension.name):
            slice_ = slice_.with_values(dimension.name, *dimension.values)
    return slice_


def _accepted(values: Sequence[str], conditions: Sequence[LabelMatcher]) -> list[str]:
    return [value for value in values if all(condition.accepts(value) for condition in conditions)]


def _named(by_label: dict[str, list[LabelMatcher]]) -> Iterator[tuple[str, list[str]]]:
    """Yields the releases and pages that are named by their texts, which need not be looked up."""
    for label in PLACE_ATTRIBUTES:
        conditions = by_label.get(label, [])
        texts = [condition.texts for condition in conditions if condition.is_positive and condition.texts is not None]
        if texts:
            yield label, _accepted(sorted(frozenset.intersection(*texts)), conditions)


def _narrow(slice_: Slice, label: str, values: Sequence[str]) -> Slice | None:
    return slice_.with_values(label, *values) if values else None


def _narrow_listed(slice_: Slice, label: str, conditions: Sequence[LabelMatcher]) -> Slice | None:
    """Returns a slice of the releases or pages that conditions accept, among those that it has."""
    known = [value for (value,) in select_label_values(slice_, (label,))]
    values = _accepted(known, conditions)
    if len(values) == len(known):
        return slice_ if known else None
    if len(values) > MAX_MATCHED:
        raise SliceError(label, f"The selector matches {len(values)} values of {label}; at most {MAX_MATCHED} do.")
    return _narrow(slice_, label, values)
