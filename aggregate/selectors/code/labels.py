"""What to call a func. Labels are joined when read and never stored."""

from typing import Final
from urllib.parse import urlsplit

from profcore.caching import cached
from profcore.code.identity import Original

# A page's functions are in some dozen scripts, and each anonymous one names its file.
FILES_KEPT: Final = 1_000
FILE_CHARS: Final = 400

ANONYMOUS: Final = "(anonymous)"


def label_func(name: str, uri: str | None, line: int | None, column: int | None) -> str:
    """Returns the wire name, or `(anonymous) file:line:column` if it is empty.

    An empty name means an anonymous function or a script's top level. Without a resource, the place is left out.
    """
    if name:
        return name
    return f"{ANONYMOUS} {place_of(uri, line, column)}" if uri is not None else ANONYMOUS


def label_original(original: Original) -> str:
    """Returns the original's name, or `(anonymous) file:line:column` there."""
    if original.name:
        return original.name
    return f"{ANONYMOUS} {place_of(original.source, original.line, original.column)}"


@cached(entries=FILES_KEPT, chars=FILE_CHARS)
def file_of(uri: str) -> str:
    """Returns the last segment of a URI's path, its host if the path is empty, or the URI if it has neither."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return uri
    segments = [segment for segment in parts.path.split("/") if segment]
    if segments:
        return segments[-1]
    return parts.netloc or uri


def place_of(uri: str | None, line: int | None, column: int | None) -> str:
    """Returns `file:line:column` of a function's definition, or "" for a built-in, which has no place."""
    if uri is None:
        return ""
    return ":".join(str(part) for part in (file_of(uri), line, column) if part is not None)
