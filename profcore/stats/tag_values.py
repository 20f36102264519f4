"""The value of one tag of an envelope, as a stratum of its view."""

from typing import Final

import msgspec

from profcore.trace.tags import TagsOnly

_decoder: Final = msgspec.json.Decoder(TagsOnly)


def read_tag_value(body: bytes, prefix: str) -> str:
    """Returns the value of the first tag that begins with `prefix:` or `prefix=`, "" if an envelope has none.

    Tags are read as texts: `key:value` of an object's, so that `{"input": "large"}`, `["input:large"]` and
    `["input=large"]` all mean the same. A body that cannot be read has no tags.
    """
    try:
        tags = _decoder.decode(body).tags
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""
    texts = [f"{key}:{value}" for key, value in tags.items()] if isinstance(tags, dict) else tags or []
    values = [text[len(prefix) + 1 :] for text in texts if text.startswith((f"{prefix}:", f"{prefix}="))]
    return next(iter(values), "")
