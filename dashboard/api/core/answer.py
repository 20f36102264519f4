"""What endpoints return: structs, from which the OpenAPI document is derived, and what their signatures do not say."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Annotated, Any, Final, Generic, Self, TypeVar

from msgspec import Meta, Struct, defstruct

from dashboard.api.core.parameters import Parameter
from profcore.code.display_rules import COLOURS
from profcore.trace.dimensions import DEVICE_CLASSES, DIMENSIONS, END_REASONS, NAVIGATIONS


class Answer(Struct):
    """A JSON object of an answer. Docstrings and fields' `doc` describe it in the OpenAPI document."""

    @classmethod
    def of(cls, row: Any, /, **values: Any) -> Self:  # Any: subclasses know their rows
        """Returns an answer with these values. Other fields are attributes of the row; what it has in µs becomes ms."""
        same, in_us = _columns(cls, row.__class__)
        columns = {name: getattr(row, name) for name in same}
        for name, column in in_us:
            if name not in values:
                time_us = getattr(row, column)
                columns[name] = None if time_us is None else time_us / 1000
        columns.update(values)
        return cls(**columns)


@cache
def _columns(answer: type[Answer], row: type) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Returns the fields that rows of this type have too, and those that they have in µs with the attribute."""
    us_names = {name: name.removesuffix("_ms") + "_us" for name in answer.__struct_fields__}
    in_us = tuple((name, column) for name, column in us_names.items() if hasattr(row, column))
    return tuple(name for name in us_names if hasattr(row, name)), in_us


AnswerType = TypeVar("AnswerType", bound=Answer)
Handler = TypeVar("Handler", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Conditional(Generic[AnswerType]):
    """An answer that is only made for clients that do not have it. An equal `key` means an equal answer."""

    key: tuple[object, ...]
    make: Callable[[], AnswerType]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """What the OpenAPI document cannot derive from a handler.

    `answers` and `errors` are by status; `content` has the JSON Schema of each media type of an answer that is no
    struct. `body` is a struct or such a content, `params` are those of this handler alone.
    """

    id: str = ""
    body: type[Struct] | Mapping[str, object] | None = None
    params: Sequence[Parameter] = ()
    answers: Mapping[int, type[Answer]] = field(default_factory=dict)
    notes: Mapping[int, str] = field(default_factory=dict)
    errors: Mapping[int, str] = field(default_factory=dict)
    content: Mapping[str, object] | None = None


NOTHING: Final = Operation()


def operation_of(handler: object) -> Operation:
    """Returns what is said about a handler."""
    described: Operation = getattr(handler, "operation", NOTHING)
    return described


def operation(id: str = "", **described: Any) -> Callable[[Handler], Handler]:  # Any: the fields of `Operation`
    """Describes a handler. Handlers that only read need it for what is not one struct; others need an id."""

    def describe(handler: Handler) -> Handler:
        handler.operation = Operation(id=id, **described)  # type: ignore[attr-defined]  # functions may have attributes
        return handler

    return describe


def doc(text: str) -> Meta:
    """Returns the description of a field."""
    return Meta(description=text)


def choices(values: Collection[str]) -> Meta:
    """Returns the values that a text may have."""
    return Meta(extra_json_schema={"enum": list(values)})


def with_dimensions(first: type[Answer], kind: Any = None) -> Any:  # Any: types, and a base that mypy cannot follow
    """Returns the base of an answer: the fields of `first`, then one for each dimension of views, or of this kind."""
    fields = [(dimension.name, kind or Annotated[str, choices(dimension.values)]) for dimension in DIMENSIONS]
    return defstruct(first.__name__, fields, bases=(first,))


Instant = Annotated[datetime, Meta(tz=True)]
InstantText = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
Pair = Meta(min_length=2, max_length=2)
Interval = Annotated[Sequence[float], Pair] | None  # a 95 % interval; null if there is too little data
ViewsOfSides = Annotated[Sequence[int], Pair]
Device = Annotated[str, choices(DEVICE_CLASSES)]
Navigation = Annotated[str, choices(NAVIGATIONS)]
EndReason = Annotated[str, choices(END_REASONS)]
Colour = Annotated[Annotated[str, choices(COLOURS)] | None, doc("By a display rule.")]
OBJECT: Final = {"type": "object", "additionalProperties": {}}
BINARY: Final = {"type": "string", "format": "binary"}
TEXT: Final = {"type": "string"}
NOT_CHANGED: Final = {304: "The answer named by `If-None-Match` has not changed."}
ADMINS_ONLY: Final = {403: "Only administrators with a session can change it; a token can only read."}
