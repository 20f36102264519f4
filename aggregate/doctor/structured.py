"""Dictionaries of structured headers (RFC 9651, section 4.2.2), as Document-Policy is one.

Browsers drop the whole header for a single error in it. So the reader is as strict, and says where the error is.
"""

import base64
import binascii
import re
from typing import Final

KEY: Final = re.compile(r"[a-z*][a-z0-9_.*-]*")
NUMBER: Final = re.compile(r"-?(?:[0-9]{1,12}\.[0-9]{1,3}|[0-9]{1,15})(?![0-9.])")
STRING: Final = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')
TOKEN: Final = re.compile(r"[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*")
BYTES: Final = re.compile(r":([A-Za-z0-9+/=]*):")
BOOLEAN: Final = re.compile(r"\?([01])")
COMMA: Final = re.compile(r"[ \t]*,[ \t]*")


class Token(str):
    """A word without quotes."""

    __slots__ = ()


Item = bool | int | float | str | bytes
Value = Item | list[Item]


class StructuredError(ValueError):
    """The header cannot be read; has the place, counted from 0, and what is wrong there."""

    def __init__(self, at: int, detail: str) -> None:
        super().__init__(detail)
        self.at = at


def read_dictionary(text: str) -> dict[str, Value]:
    """Returns the members of a dictionary, without their parameters; of two with one key the last counts.

    Raises `StructuredError`.
    """
    text, members = text.strip(" "), {}
    at = 0
    while at < len(text):
        key, at = _read_key(text, at)
        members[key], at = _read_value(text, at + 1) if text[at : at + 1] == "=" else (True, at)
        at = _skip_parameters(text, at)
        if at == len(text):
            break
        comma = COMMA.match(text, at)
        if comma is None:
            raise StructuredError(at, "a comma is missing")
        at = comma.end()
        if at == len(text):
            raise StructuredError(at, "nothing follows the last comma")
    return members


def _read_key(text: str, at: int) -> tuple[str, int]:
    match = KEY.match(text, at)
    if match is None:
        raise StructuredError(at, "a name in small letters is expected")
    return match.group(), match.end()


def _read_value(text: str, at: int) -> tuple[Value, int]:
    if text[at : at + 1] != "(":
        return _read_item(text, at)
    items: list[Item] = []
    at += 1
    while True:
        while text[at : at + 1] == " ":
            at += 1
        if text[at : at + 1] == ")":
            return items, at + 1
        item, at = _read_item(text, at)
        at = _skip_parameters(text, at)
        items.append(item)
        if text[at : at + 1] not in (" ", ")"):
            raise StructuredError(at, "a list in parentheses has no end")


def _read_item(text: str, at: int) -> tuple[Item, int]:
    if match := BOOLEAN.match(text, at):
        return match[1] == "1", match.end()
    if match := NUMBER.match(text, at):
        return float(match.group()) if "." in match.group() else int(match.group()), match.end()
    if match := STRING.match(text, at):
        return re.sub(r"\\(.)", r"\1", match[1]), match.end()
    if match := TOKEN.match(text, at):
        return Token(match.group()), match.end()
    if match := BYTES.match(text, at):
        try:
            return base64.b64decode(match[1]), match.end()
        except binascii.Error:
            raise StructuredError(at, "these bytes are not base64") from None
    raise StructuredError(at, "a value is missing, or is none")


def _skip_parameters(text: str, at: int) -> int:
    while text[at : at + 1] == ";":
        at += 1
        while text[at : at + 1] == " ":
            at += 1
        _, at = _read_key(text, at)
        if text[at : at + 1] == "=":
            _, at = _read_item(text, at + 1)
    return at
