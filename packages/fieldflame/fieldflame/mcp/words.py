"""How answers are written for an assistant. Names come from anybody who can post a trace: they are quoted, as data."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fieldflame.clean import clean
from fieldflame.numbers import write_change, write_count, write_interval, write_ms

Json = Mapping[str, Any]  # Any: JSON, as the server answered
MAX_NAME: Final = 120
# What a sentence of the server may have: it names a page, releases and up to three functions.
MAX_SENTENCE: Final = 1_500


def quote(text: object, most: int = MAX_NAME) -> str:
    """Returns foreign text in backticks, on one line and bounded, from which it cannot get out."""
    return f"`{clean(str(text), most).replace('`', 'ˋ')}`"


def quote_sentence(parts: Sequence[Json]) -> str:
    """Returns a sentence of the server with its names quoted, and with plain spaces."""
    said = (quote(part["text"]) if part["role"] == "name" else clean(part["text"]) for part in parts)
    return "".join(said).replace("\u202f", " ")[:MAX_SENTENCE]


def place_of(function: Json) -> str | None:
    """Returns where a function is defined: in the original source, else in the script; None if that is not known."""
    original = function.get("original")
    if original:
        return f"{original['source']}:{original['line']}:{original['column']}"
    if not function.get("uri"):
        return None
    if function.get("line") is None:
        return str(function["uri"])
    return f"{function['uri']}:{function['line']}:{function['column']}"


def name_function(function: Json) -> str:
    """Returns a function's quoted name, with its place."""
    place = place_of(function)
    return quote(function["label"]) + (f" ({quote(place)})" if place else "")


def write_mean(ms: float, interval: Sequence[float] | None) -> str:
    """Returns a time per view with its interval: `14.2 ms per view (13.1 to 15.4 ms)`."""
    return f"{write_ms(ms)} per view" + _in_brackets(interval)


def write_difference(ms: float, interval: Sequence[float] | None) -> str:
    """Returns a change per view with its interval: `+91 ms per view (35.8 to 152 ms)`."""
    return f"{write_change(ms)} per view" + _in_brackets(interval)


def _in_brackets(interval: Sequence[float] | None) -> str:
    return f" ({write_interval((interval[0], interval[1]))})" if interval else ""


def write_views(views: float) -> str:
    """Returns a number of page views."""
    return write_count(int(views), "page view")
