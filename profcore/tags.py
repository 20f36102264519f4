"""The tags of an envelope alone, read without decoding its trace: to pick traces by them."""

from collections.abc import Sequence
from typing import Final

import msgspec


class TagsOnly(msgspec.Struct, gc=False):
    """The one field of an envelope that is looked at."""

    tags: dict[str, str] | list[str] | None = None


_decoder: Final = msgspec.json.Decoder(TagsOnly)


def has_tags(body: bytes, wanted: Sequence[tuple[str, str]]) -> bool:
    """Tells whether an envelope, as expanded JSON, carries all tags (key, value).

    A list of tags has keys alone, whose values are empty. A body that cannot be read carries none.
    """
    if not wanted:
        return True
    try:
        tags = _decoder.decode(body).tags
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    values = tags if isinstance(tags, dict) else dict.fromkeys(tags or (), "")
    return all(values.get(key) == value for key, value in wanted)
