"""Paths in source maps, as they are in the repository."""

import re
from typing import Final

# How bundlers write the path of a source: `webpack://app/./src/a.ts`, `../../src/a.ts`, or a `file` URL.
SCHEME: Final = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://[^/]*/")


def clean_path(source: str) -> str:
    """Returns the path of a source in the repository; empty for one that cannot be there."""
    path = SCHEME.sub("", source.partition("?")[0]).replace("\\", "/")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    while parts and parts[0] == "..":
        parts.pop(0)
    if not parts or ".." in parts or any(not part.isprintable() for part in parts):
        return ""
    return "/".join(parts)
