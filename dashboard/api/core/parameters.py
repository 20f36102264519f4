"""Declares the parameters of endpoints for the OpenAPI document; each also reads its value."""

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Final

from django.http import QueryDict

from aggregate.selectors.exports.requests import AXES, ENGINES, SOURCES
from aggregate.selectors.functions.groups import GROUPINGS
from aggregate.selectors.slice.slices import AS_STORED, DISPLAY
from dashboard.web.params import ParamError, read_choice, read_count, read_one, read_share
from profcore.code.categories import FUNC_CATEGORIES
from profcore.formats.slice import SEGMENTS
from profcore.trace.dimensions import DIMENSIONS


@dataclass(frozen=True, slots=True)
class Parameter:
    """A query parameter. `is_many`: it may be repeated."""

    name: str
    description: str = ""
    _: KW_ONLY
    choices: Sequence[str] = ()
    default: str | float | None = None
    is_many: bool = False
    is_required: bool = False
    type: str = "string"

    def describe(self) -> dict[str, object]:
        """Returns the parameter for the OpenAPI document."""
        schema: dict[str, object] = {"type": self.type}
        if self.choices:
            schema["enum"] = list(self.choices)
        if self.is_many:
            schema = {"type": "array", "items": schema}
        if self.default is not None:
            schema["default"] = self.default
        more = {"description": self.description, "required": self.is_required}
        return {"in": "query", "name": self.name, "schema": schema} | {key: text for key, text in more.items() if text}


@dataclass(frozen=True, slots=True)
class Text(Parameter):
    """A text, or one of the choices; if it has no default, it may be empty."""

    def read(self, params: QueryDict) -> str:
        """Returns the value in a query string. Raises `ParamError`."""
        default = str(self.default or "")
        if not self.choices:
            return read_one(params, self.name, default)
        return read_choice(params, self.name, self.choices if default else ("", *self.choices), default)


@dataclass(frozen=True, slots=True)
class Count(Parameter):
    """A whole number from 1 to `high`."""

    _: KW_ONLY
    high: int
    default: int
    type: str = "integer"

    def read(self, params: QueryDict) -> int:
        """Returns the value in a query string. Raises `ParamError`."""
        return read_count(params, self.name, default=self.default, high=self.high)


@dataclass(frozen=True, slots=True)
class Share(Parameter):
    """A number from 0 to 1; 0 if it is absent."""

    default: float = 0.0
    type: str = "number"

    def read(self, params: QueryDict) -> float:
        """Returns the value in a query string. Raises `ParamError`."""
        return read_share(params, self.name)


def check_known(params: QueryDict, known: Iterable[Parameter]) -> None:
    """Raises `ParamError` for an unknown parameter: a typo must not look like a filter."""
    names = sorted(param.name for param in known)
    for name in params:
        if name not in names:
            hint = f"known are {', '.join(names)}" if names else "there are no parameters here"
            raise ParamError(name[:80], f"The parameter {name[:80]!r} is not known; {hint}.")


def many(name: str, description: str, choices: Sequence[str] = ()) -> Parameter:
    """Returns a parameter that filters by any of its values."""
    return Parameter(name, f"{description} Repeatable; absent means all.", choices=choices, is_many=True)


def limit_of(high: int, default: int | None = None, text: str = "") -> Count:
    """Returns the parameter that limits rows."""
    return Count("limit", f"{text}1 to {high}.", default=high if default is None else default, high=high)


FILTER_PARAMS: Final = (
    many("release", "A release."),
    many("page", "A page, by its route."),
    many("from", "ISO 8601 or epoch ms; rounded down to a bucket."),
    many("to", "ISO 8601 or epoch ms; rounded up to a bucket. The n-th `from` and `to` are a pair."),
    *(many(dimension.name, f"{dimension.description.capitalize()}.", dimension.values) for dimension in DIMENSIONS),
)
DISPLAY_PARAM: Final = Text(DISPLAY, "Functions as they are stored, without display rules.", choices=[AS_STORED])
SLICE_PARAMS: Final = (*FILTER_PARAMS, DISPLAY_PARAM)
VIEW_PARAM: Final = many("view", "A page view's id.")
FUNC_OVER_PARAM: Final = many(
    "func_over", "`ID:MS`: views in which this function's total exceeds MS milliseconds. All must hold."
)
FINE_PARAMS: Final = (
    VIEW_PARAM,
    many("trace", "A trace's id; its raw body must still be kept."),
    many("tag", "`key:value`, read from raw bodies. A trace must have all of them."),
    FUNC_OVER_PARAM,
)
# The fields in which two slices may differ; both share the others.
SIDE_PARAMS: Final = tuple(
    many(f"{side}_{param.name}", f"`{param.name}` of the {side} only.")
    for side in ("base", "head")
    for param in FILTER_PARAMS
)
EXPORT_PARAMS: Final = (
    Text("segment", "One track per value, if the format has tracks.", choices=SEGMENTS),
    Text("axis", "`time`, the default for views and traces, or `sum`.", choices=AXES),
    Text("engine", "`leaves`: adds the engine's work below the functions.", choices=ENGINES),
    Text("sources", "`content`: adds the texts of original sources.", choices=SOURCES),
    *SIDE_PARAMS,
)
GROUP_BY: Final = Text("group_by", choices=["function", *GROUPINGS], default="function")
CATEGORY: Final = many("category", "Only functions of this category.", list(FUNC_CATEGORIES))
SEARCH: Final = Text("q", "Only functions with this text in name, label or place; case does not matter.")
