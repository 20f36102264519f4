"""Reads the values of query parameters for pages and the API, and refuses those that may not be."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast, get_args
from uuid import UUID

import msgspec
from django.http import Http404, QueryDict

from aggregate.selectors.exports.requests import ExportQuery
from aggregate.selectors.functions.table import MAX_SEARCH_CHARS
from aggregate.selectors.slice.slices import DISPLAY, FINE_FIELDS, SLICE_FIELDS, SliceQuery
from profcore.code.categories import FUNC_CATEGORIES
from profcore.stats.views import Measure
from profcore.trace.funcs import UNSTORABLE

MEASURES: Final = get_args(Measure)


SHARE: Final = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,12})?")
MAX_SEARCH: Final = MAX_SEARCH_CHARS


class ParamError(ValueError):
    """A parameter is unknown or its value cannot be used; has its name and a sentence.

    Both may quote the request. JSON may hold lone surrogates, which an answer cannot: they become U+FFFD.
    """

    def __init__(self, field: str, detail: str) -> None:
        self.field = UNSTORABLE.sub("\ufffd", field)
        self.detail = UNSTORABLE.sub("\ufffd", detail)
        super().__init__(self.detail)


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Which functions of a slice are shown. It is not part of the slice: sums stay. Empty means all."""

    categories: Sequence[str] = ()
    search: str = ""

    def params(self) -> list[tuple[str, str]]:
        """Returns the query parameters."""
        return [("category", word) for word in self.categories] + ([("q", self.search)] if self.search else [])


EVERY_FUNCTION: Final = Narrowing()


def read_slice_query(params: QueryDict) -> SliceQuery:
    """Returns the slice's raw values. `resolve_slice` checks them."""
    return {field: params.getlist(field) for field in (*SLICE_FIELDS, *FINE_FIELDS, DISPLAY)}


def read_export_query(params: QueryDict) -> ExportQuery:
    """Returns the options of an export. `resolve_export` checks them."""
    return ExportQuery(
        segment=read_one(params, "segment", ""),
        axis=read_one(params, "axis", ""),
        engine=read_one(params, "engine", ""),
        sources=read_one(params, "sources", ""),
        base=read_side(params, "base"),
        head=read_side(params, "head"),
    )


def read_side(params: QueryDict, side: str) -> SliceQuery:
    """Returns the raw values of `base` or `head`. `resolve_sides` checks them."""
    return {field: params.getlist(f"{side}_{field}") for field in SLICE_FIELDS}


def read_raw_ref(params: QueryDict) -> str:
    """Returns the trace that `format=raw` is requested for. Raises `ParamError`, also for filters."""
    for name in params:
        if name not in ("format", "compress", "trace"):
            raise ParamError(name, f"format=raw takes only trace, not {name}.")
    ref = read_one(params, "trace", "")
    if not ref:
        raise ParamError("trace", "format=raw takes one trace: its id, or VIEW.SEQ.")
    return ref


def read_one(params: QueryDict, name: str, default: str) -> str:
    """Returns a parameter that may occur once."""
    values = params.getlist(name)
    if len(values) > 1:
        raise ParamError(name, f"{name} occurs {len(values)} times; it may occur once.")
    return values[0] if values else default


def read_choice(params: QueryDict, name: str, choices: Collection[str], default: str) -> str:
    """Returns a parameter that must be one of the choices."""
    value = read_one(params, name, default)
    if value not in choices:
        raise ParamError(name, f"{name} must be one of {', '.join(choices)}; not {value[:80]!r}.")
    return value


def read_measure(params: QueryDict, *, group_by: str, default: Measure) -> Measure:
    """Returns the measure of a table. Raises `ParamError` for the total of groups, which no view keeps."""
    measure = cast("Measure", read_choice(params, "measure", MEASURES, default))  # checked against its words
    if measure == "total" and group_by != "function":
        raise ParamError("measure", "measure=total works only with group_by=function: views keep no totals of groups.")
    return measure


def read_count(params: QueryDict, name: str, *, default: int, high: int) -> int:
    """Returns a parameter that must be a whole number from 1 to `high`."""
    text = read_one(params, name, str(default))
    value = int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0
    if not 1 <= value <= high:
        raise ParamError(name, f"{name} must be a whole number from 1 to {high}; not {text[:80]!r}.")
    return value


def read_share(params: QueryDict, name: str) -> float:
    """Returns a parameter that must be a number from 0 to 1; 0 if it is absent."""
    text = read_one(params, name, "0")
    if not SHARE.fullmatch(text) or float(text) > 1:
        raise ParamError(name, f"{name} must be a number from 0 to 1; not {text[:80]!r}.")
    return float(text)


def read_choices(params: QueryDict, name: str, choices: Collection[str]) -> list[str]:
    """Returns the values of a parameter that may be repeated; each must be one of the choices."""
    for value in params.getlist(name):
        if value not in choices:
            raise ParamError(name, f"{name} must be one of {', '.join(choices)}; not {value[:80]!r}.")
    return list(dict.fromkeys(params.getlist(name)))


def read_changes(changes: object, known: tuple[str, ...]) -> dict[str, Any]:  # Any: JSON, checked by its readers
    """Returns the fields of a body.

    Raises `ParamError` if it is not an object, for unknown fields, and for a field with half a surrogate pair in it: a
    text of JSON may have that, and no text that is stored.
    """
    if not isinstance(changes, dict):
        raise ParamError("$", "The body must be a JSON object.")
    for name, value in changes.items():
        if name not in known:
            raise ParamError(str(name)[:80], f"{str(name)[:80]} is not known; known are {', '.join(known)}.")
        if not is_text(value):
            place = _find_half(name, value)
            raise ParamError(place[:80], f"{place[:80]} contains a lone surrogate, which is not valid text.")
    return changes


def is_text(value: Any) -> bool:  # Any: JSON
    """Returns whether a value can be written as UTF-8: with half a surrogate pair in a text, it cannot."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return False
    return True


def _find_half(place: str, value: Any) -> str:  # Any: as above
    """Returns the place of a text in an object that cannot be written."""
    while isinstance(value, dict):
        name = next((name for name in value if not is_text(value[name])), None)
        if name is None:
            break
        place, value = f"{place}.{name}", value[name]
    return place


def read_narrowing(params: QueryDict) -> Narrowing:
    """Returns `category`, which may be repeated, and `q`."""
    search = read_one(params, "q", "").strip()
    if len(search) > MAX_SEARCH:
        raise ParamError("q", f"q must have at most {MAX_SEARCH} characters, not {len(search)}.")
    return Narrowing(read_choices(params, "category", list(FUNC_CATEGORIES)), search)


def read_uuid(text: str) -> UUID:
    """Returns an id of an address. Raises `Http404` for a text that is not one."""
    try:
        return UUID(text)
    except ValueError:
        raise Http404("This is not an id.") from None
