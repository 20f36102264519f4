"""Query parameters: which are known, and what they may say."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.http import QueryDict

from aggregate.selectors import ExportQuery, SliceQuery
from aggregate.selectors.slices import DISPLAY, FINE_FIELDS, SLICE_FIELDS
from profcore.formats.slice import FUNC_CATEGORIES
from profcore.funcs import UNSTORABLE

SHARE: Final = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,12})?")
MAX_SEARCH: Final = 200  # characters: a long path; each is looked for in every function's texts


class ParamError(ValueError):
    """A parameter is unknown or has no usable value: its name and a sentence.

    Both may quote what was sent, and JSON may hold lone surrogates, which no answer can: they become U+FFFD.
    """

    def __init__(self, field: str, detail: str) -> None:
        self.field = UNSTORABLE.sub("\ufffd", field)
        self.detail = UNSTORABLE.sub("\ufffd", detail)
        super().__init__(self.detail)


@dataclass(frozen=True, slots=True)
class Narrowing:
    """Which functions of a slice are shown; no part of the slice, whose sums stay. Empty means all."""

    categories: Sequence[str] = ()
    search: str = ""

    def params(self) -> list[tuple[str, str]]:
        """Returns it as query parameters."""
        return [("category", word) for word in self.categories] + ([("q", self.search)] if self.search else [])


def check_known(params: QueryDict, known: Collection[str]) -> None:
    """Raises `ParamError` for a parameter that would be ignored: a typo must not pass for a filter.

    Whoever knows the fields of a slice knows `display`, which links keep with the slice.
    """
    if set(SLICE_FIELDS) <= set(known):
        known = [*known, DISPLAY]
    for name in params:
        if name not in known:
            words = f"known are {', '.join(sorted(known))}" if known else "none is taken here"
            raise ParamError(name[:80], f"The parameter {name[:80]!r} is not known; {words}.")


def read_slice_query(params: QueryDict) -> SliceQuery:
    """Returns the slice's raw values, for `resolve_slice` to check."""
    return SliceQuery(*(params.getlist(field) for field in (*SLICE_FIELDS, *FINE_FIELDS, DISPLAY)))


def read_export_query(params: QueryDict) -> ExportQuery:
    """Returns how an export is asked for, for `resolve_export` to check."""
    return ExportQuery(
        segment=read_one(params, "segment", ""),
        axis=read_one(params, "axis", ""),
        engine=read_one(params, "engine", ""),
        sources=read_one(params, "sources", ""),
        base=read_side(params, "base"),
        head=read_side(params, "head"),
    )


def read_side(params: QueryDict, side: str) -> SliceQuery:
    """Returns the raw values that `base` or `head` has of its own, for `resolve_sides` to check."""
    return SliceQuery(*(params.getlist(f"{side}_{field}") for field in SLICE_FIELDS))


def read_raw_ref(params: QueryDict) -> str:
    """Returns the one trace that `format=raw` is asked for. Raises `ParamError`, also for filters, which it has not."""
    for name in params:
        if name not in ("format", "compress", "trace"):
            raise ParamError(name, f"format=raw takes trace alone, not {name}.")
    ref = read_one(params, "trace", "")
    if not ref:
        raise ParamError("trace", "format=raw takes one trace: its id, or VIEW.SEQ.")
    return ref


def read_one(params: QueryDict, name: str, default: str) -> str:
    """Returns a parameter that may be given once."""
    values = params.getlist(name)
    if len(values) > 1:
        raise ParamError(name, f"{name} is given {len(values)} times; once is enough.")
    return values[0] if values else default


def read_choice(params: QueryDict, name: str, choices: Collection[str], default: str) -> str:
    """Returns a parameter that must be one of some words."""
    value = read_one(params, name, default)
    if value not in choices:
        raise ParamError(name, f"{name} must be one of {', '.join(choices)}; not {value[:80]!r}.")
    return value


def read_count(params: QueryDict, name: str, *, default: int, high: int) -> int:
    """Returns a parameter that must be a whole number from 1 to `high`."""
    text = read_one(params, name, str(default))
    value = int(text) if text.isascii() and text.isdigit() and len(text) <= 9 else 0
    if not 1 <= value <= high:
        raise ParamError(name, f"{name} must be a whole number from 1 to {high}; not {text[:80]!r}.")
    return value


def read_share(params: QueryDict, name: str) -> float:
    """Returns a parameter that must be a number from 0 to 1; 0 where it is absent."""
    text = read_one(params, name, "0")
    if not SHARE.fullmatch(text) or float(text) > 1:
        raise ParamError(name, f"{name} must be a number from 0 to 1; not {text[:80]!r}.")
    return float(text)


def read_words(params: QueryDict, name: str, choices: Collection[str]) -> list[str]:
    """Returns a parameter that may be given several times, each time as one of some words."""
    for value in params.getlist(name):
        if value not in choices:
            raise ParamError(name, f"{name} must be one of {', '.join(choices)}; not {value[:80]!r}.")
    return list(dict.fromkeys(params.getlist(name)))


def read_changes(changes: object, known: tuple[str, ...]) -> dict[str, Any]:  # Any: JSON, checked by its readers
    """Returns a body that changes something. Raises `ParamError` for one that is no object, and for unknown names."""
    if not isinstance(changes, dict):
        raise ParamError("$", "The body must be a JSON object.")
    for name in changes:
        if name not in known:
            raise ParamError(str(name)[:80], f"{str(name)[:80]} is not known; known are {', '.join(known)}.")
    return changes


def read_narrowing(params: QueryDict) -> Narrowing:
    """Returns `category`, which may be repeated, and `q`."""
    search = read_one(params, "q", "").strip()
    if len(search) > MAX_SEARCH:
        raise ParamError("q", f"q must have at most {MAX_SEARCH} characters, not {len(search)}.")
    return Narrowing(read_words(params, "category", list(FUNC_CATEGORIES)), search)
