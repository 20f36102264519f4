"""The marks of an envelope with all their facts, which people see and the fold does not need.

The wire checks the type, start and duration of a mark. Everything else that a client sends with it is kept here as it
is, within bounds: an unknown fact is no reason to refuse a trace, and no reason to lose the fact.
"""

import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import msgspec

from profcore.trace.funcs import clean_url, strip_uri
from profcore.trace.mark_types import TYPE_ALIASES
from profcore.trace.weights import to_us
from profcore.trace.wire import MAX_SHORT_CHARS, UNREADABLE, Mark

Fact = str | float | int | bool

EXACT_INTEGERS: Final = 2**53
MAX_FACTS: Final = 40  # a long animation frame has about fifteen with those of its scripts, an interaction ten
MAX_FACT_CHARS: Final = 400  # a target's selector or a script's URL; more does not fit a tooltip
MAX_SCRIPTS: Final = 20  # scripts of one long animation frame
# Times on the client's clock, as performance entries have them; 0 means unknown (another origin, or not yet).
MOMENTS: Final = frozenset(
    {
        "processingStart",
        "processingEnd",
        "renderStart",
        "styleAndLayoutStart",
        "firstUIEventTimestamp",
        "loadTime",
        "renderTime",
        "start",
        "startTime",
        "executionStart",
    }
)
URL_KEYS: Final = frozenset({"url", "src", "href", "sourceURL", "sourceUrl", "containerSrc", "script"})
URL_IN_TEXT: Final = re.compile(r"\b(?:[a-z][a-z0-9+.-]*://|blob:|data:)\S*", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineMark:
    """A timed fact of a page view: µs on the view's clock, or on the trace's own before it is joined.

    `type` is the wire's word, with synonyms unified (`TYPE_ALIASES`). `name` is the entry's own name (an event's type,
    a user mark's name), or "". `facts` are all others, by the wire's names; times among them (`MOMENTS`) are ms after
    the mark's start. `scripts` are those of a long animation frame. Texts are hostile; URLs in them are without query
    and fragment.
    """

    type: str
    start_us: int
    duration_us: int = 0
    name: str = ""
    facts: Mapping[str, Fact] = field(default_factory=dict)
    scripts: tuple[Mapping[str, Fact], ...] = ()

    @property
    def end_us(self) -> int:
        """The end of the mark; equals its start if it has no length."""
        return self.start_us + self.duration_us


class _Where(NamedTuple):
    """The base of a mark's facts: its start on the client's clock, and the page."""

    start_ms: float
    page_url: str | None
    page: str


class _Marks(msgspec.Struct, gc=False):
    marks: list[dict[str, object]] = []


_decoder: Final = msgspec.json.Decoder(_Marks)


def read_marks(
    body: bytes, *, page_url: str | None, page: str, types: Collection[str] | None = None
) -> list[TimelineMark]:
    """Reads the marks of an envelope that `decode_envelope` has accepted, in their order. Raises nothing.

    A mark that cannot be read is left out, and so is one of another type than `types`, if these are given. `page_url`
    (cleaned) and `page` (the route) are for URLs, as in `read_func_keys`.
    """
    try:
        marks = _decoder.decode(body).marks
    except UNREADABLE:
        return []
    if types is not None:
        marks = [mark for mark in marks if _unify_type(mark.get("type")) in types]
    return [timeline_mark for mark in marks if (timeline_mark := _read_mark(mark, page_url, page)) is not None]


def _unify_type(sent: object) -> str | None:
    """Returns the type of a mark as `TimelineMark` has it; None if it is no text."""
    return TYPE_ALIASES.get(sent.lower(), sent)[:MAX_SHORT_CHARS] if isinstance(sent, str) else None


# The names of a script's facts, as the snippet and as the browser's own entries have them.
SCRIPT_FUNCTION: Final = ("function", "sourceFunctionName")
SCRIPT_URL: Final = ("url", "sourceURL", "sourceUrl")
SCRIPT_POSITION: Final = ("position", "sourceCharPosition")
SCRIPT_FORCED: Final = ("forced", "forcedStyleAndLayoutDuration")


# Stands for what ran, where that was the snippet.
PROFILER_SCRIPT: Final = "(profiler)"


def hide_own_scripts(mark: TimelineMark, address: str | None) -> TimelineMark:
    """Returns a mark in which scripts at the snippet's address say only when they ran, as the profiler's own work."""
    own = (address or "")[:MAX_FACT_CHARS]
    if not own or not any(script_text(script, *SCRIPT_URL) == own for script in mark.scripts):
        return mark
    return replace(mark, scripts=tuple(_hide_own(script, own) for script in mark.scripts))


def _hide_own(script: Mapping[str, Fact], own: str) -> Mapping[str, Fact]:
    if script_text(script, *SCRIPT_URL) != own:
        return script
    return {"invoker": PROFILER_SCRIPT} | {name: fact for name, fact in script.items() if not isinstance(fact, str)}


def is_own_script(script: Mapping[str, Fact]) -> bool:
    """Returns whether a script of a long animation frame is the snippet's, as `hide_own_scripts` leaves it."""
    return script.get("invoker") == PROFILER_SCRIPT


def script_text(script: Mapping[str, Fact], *names: str) -> str:
    """Returns the first fact with one of these names that says something; "" without one."""
    return next((str(script[name]) for name in names if script.get(name) not in (None, "")), "")


def script_ms(script: Mapping[str, Fact], *names: str) -> float:
    """Returns the first fact with one of these names that is a number; 0 without one."""
    numbers = (script.get(name) for name in names)
    return next((number for number in numbers if isinstance(number, int | float) and not isinstance(number, bool)), 0.0)


def describe_script(script: Mapping[str, Fact]) -> str:
    """Returns a script of a long animation frame in one line: who called it, what ran, and for how long."""
    parts = [
        script_text(script, "invoker", "invokerType"),
        script_text(script, *SCRIPT_FUNCTION),
        script_text(script, *SCRIPT_URL),
        f"{script_ms(script, 'duration'):g} ms",
    ]
    forced = script_ms(script, *SCRIPT_FORCED)
    return " ".join(part for part in parts if part) + (f", forced layout {forced:g} ms" if forced else "")


def plain_mark(mark: Mark) -> TimelineMark:
    """Returns a mark with only the fields of the wire."""
    kind = TYPE_ALIASES.get(mark.type.lower(), mark.type)
    return TimelineMark(
        type=kind, start_us=to_us(mark.start), duration_us=to_us(mark.start + mark.duration) - to_us(mark.start)
    )


def join_marks(traces: Iterable[tuple[Sequence[TimelineMark], int]]) -> list[TimelineMark]:
    """Returns the marks of a view's traces, given with what moves each to its clock, µs.

    What several traces tell is there once.
    A long task or frame that spans two traces is told by both. It is known by its type, name and time: the second may
    know other facts. Within a trace only equal marks are one: many events may begin together.
    """
    joined: list[TimelineMark] = []
    known: set[tuple[str, str, int, int]] = set()
    for marks, shift_us in traces:
        distinct: dict[str, TimelineMark] = {}
        for mark in marks:
            moved = TimelineMark(
                type=mark.type,
                start_us=mark.start_us + shift_us,
                duration_us=mark.duration_us,
                name=mark.name,
                facts=mark.facts,
                scripts=mark.scripts,
            )
            distinct.setdefault(repr(moved), moved)
        fresh = [mark for mark in distinct.values() if _identity_of(mark) not in known]
        joined += fresh
        known.update(map(_identity_of, fresh))
    return sorted(joined, key=lambda mark: (mark.start_us, mark.duration_us, mark.type, mark.name))


def _identity_of(mark: TimelineMark) -> tuple[str, str, int, int]:
    return mark.type, mark.name, mark.start_us, mark.duration_us


def _read_mark(mark: Mapping[str, object], page_url: str | None, page: str) -> TimelineMark | None:
    kind, start, duration = _unify_type(mark.get("type")), mark.get("start"), mark.get("duration", 0)
    if kind is None or not isinstance(start, int | float) or not isinstance(duration, int | float):
        return None
    start_us = to_us(start)
    where = _Where(start, page_url, page)
    rest = {key: value for key, value in mark.items() if key not in {"type", "start", "duration", "scripts"}}
    facts = _read_facts(rest, where)
    name = facts.pop("name", "")
    scripts = mark.get("scripts")
    return TimelineMark(
        type=kind,
        start_us=start_us,
        duration_us=max(to_us(start + duration) - start_us, 0),
        name=name if isinstance(name, str) else str(name),
        facts=facts,
        scripts=tuple(
            _read_facts(script, where)
            for script in (scripts[:MAX_SCRIPTS] if isinstance(scripts, list) else ())
            if isinstance(script, dict)
        ),
    )


def _read_facts(values: Mapping[str, object], where: _Where) -> dict[str, Fact]:
    """Returns the scalars among some values, in order of their names, down to one level of nesting."""
    facts: dict[str, Fact] = {}
    for key in sorted(values):
        value = values[key]
        if isinstance(value, dict):
            inner = {f"{key}.{name}": leaf for name, leaf in value.items() if not isinstance(leaf, dict | list)}
            facts |= _read_facts(inner, where)
        elif isinstance(value, str):
            facts[key[:MAX_SHORT_CHARS]] = clean_fact(key, value, where.page_url, where.page)
        elif isinstance(value, bool | int | float) and abs(value) <= sys.float_info.max:
            if key.rpartition(".")[2] in MOMENTS:
                if not value:
                    continue
                value -= where.start_ms
            # JSON integers may have thousands of digits; writers and readers support 53 bits.
            facts[key[:MAX_SHORT_CHARS]] = value if abs(value) < EXACT_INTEGERS else float(value)
    return dict(list(facts.items())[:MAX_FACTS])


def clean_fact(key: str, text: str, page_url: str | None, page: str) -> str:
    """Returns a text among facts without what is private in its URLs. The page is as in `read_marks`."""
    text = URL_IN_TEXT.sub(lambda match: strip_uri(match.group(), page_url, page), text)
    return (clean_url(text) if key.rpartition(".")[2] in URL_KEYS else text)[:MAX_FACT_CHARS]
