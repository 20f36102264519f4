"""Reads only the tags of an envelope, without decoding its trace, to select traces by tag."""

from collections.abc import Sequence
from typing import Final

import msgspec


class TagsOnly(msgspec.Struct, gc=False):
    """The only field of an envelope that is read."""

    tags: dict[str, str] | list[str] | None = None


_decoder: Final = msgspec.json.Decoder(TagsOnly)


def has_tags(body: bytes, wanted: Sequence[tuple[str, str]]) -> bool:
    """Returns whether an envelope, as expanded JSON, has all tags (key, value).

    A list of tags has only keys; their values are empty. A body that cannot be read has no tags.
    """
    if not wanted:
        return True
    try:
        tags = _decoder.decode(body).tags
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    values = tags if isinstance(tags, dict) else dict.fromkeys(tags or (), "")
    return all(values.get(key) == value for key, value in wanted)


def carries_tag(body: bytes, name: str, value: str) -> bool:
    """Returns whether an envelope, as expanded JSON, has a tag of this name with this value.

    `{"visitor": "a"}`, `["visitor:a"]` and `["visitor=a"]` mean the same. A body that cannot be read has no tags.
    """
    try:
        tags = _decoder.decode(body).tags
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    if isinstance(tags, dict):
        return tags.get(name) == value
    return not {f"{name}:{value}", f"{name}={value}"}.isdisjoint(tags or ())
