"""A build folder: its bundles, its maps, and which map belongs to which bundle."""

import base64
import binascii
import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import unquote, unquote_to_bytes, urlsplit
from uuid import UUID

from profcore.symbolicate.comments import read_comments
from profcore.symbolicate.maps import read_debug_id

BUNDLE_ENDINGS: Final = (".js", ".mjs", ".cjs")
MAP_ENDING: Final = ".map"


class Match(StrEnum):
    """How a bundle's map was found, or why there is none."""

    DEBUG_ID = "debug id"
    INLINE = "inline"
    COMMENT = "sourceMappingURL"
    NAME = "file name"
    MAP_ALONE = "map without bundle"
    NO_MAP = "no map"


@dataclass(frozen=True, slots=True)
class BundleComments:
    """A bundle's comments about its map. `mapping_url` is None if there is none; `inline_map` is an inline map."""

    debug_id: UUID | None
    mapping_url: str | None
    inline_map: bytes | None


@dataclass(frozen=True, slots=True)
class Pair:
    """A script of a build: its path, the path of its bundle and of its map. An inline map has its bundle's path."""

    path: str
    bundle: str | None
    map: str | None
    match: Match


class InlineMapError(ValueError):
    """A bundle's inline map cannot be read; has a sentence."""


def is_bundle(path: str) -> bool:
    """Returns whether a file is a script."""
    return path.lower().endswith(BUNDLE_ENDINGS)


def is_map(path: str) -> bool:
    """Returns whether a file is the source map of a script."""
    return path.lower().endswith(tuple(ending + MAP_ENDING for ending in BUNDLE_ENDINGS))


def clean_path(path: str) -> str | None:
    """Returns a file's path within its folder; None if it leads out of the folder or has no name."""
    path = path.replace("\\", "/")
    if "\0" in path or path.startswith("/") or re.match("[A-Za-z]:", path):
        return None
    parts = [part for part in path.split("/") if part not in ("", ".")]
    return "/".join(parts) if parts and ".." not in parts else None


def read_bundle(content: bytes) -> BundleComments:
    """Reads the comments at a bundle's end about its map. Raises `InlineMapError`."""
    comments = read_comments(content)
    url = comments.get("sourceMappingURL")
    debug_id = read_debug_id(comments.get("debugId"))
    if url is not None and url.lower().startswith("data:"):
        return BundleComments(debug_id, None, read_data_url(url))
    return BundleComments(debug_id, url, None)


def read_data_url(url: str) -> bytes:
    """Returns the content of a `data:` URL. Raises `InlineMapError`."""
    head, comma, payload = url.partition(",")
    if not comma:
        raise InlineMapError("Its inline map is no data URL: it has no comma.")
    if not head.lower().endswith(";base64"):
        return unquote_to_bytes(payload)
    try:
        digits = unquote(payload).rstrip("=")
        return base64.b64decode(digits + "=" * (-len(digits) % 4), validate=True)  # browsers need no padding either
    except (binascii.Error, ValueError) as error:
        raise InlineMapError(f"Its inline map is not base64: {error}.") from None


def pair_files(bundles: Mapping[str, BundleComments], maps: Mapping[str, UUID | None]) -> Sequence[Pair]:
    """Returns the scripts of a build, by path. `maps` has each map's debug id.

    A debug id decides first, then the name in the bundle's comment, then the file next to it. A map without a bundle
    stands for the script with its own name without `.map`.
    """
    by_id = {debug_id: path for path, debug_id in sorted(maps.items(), reverse=True) if debug_id is not None}
    pairs = []
    for path, comments in sorted(bundles.items()):
        identified = None if comments.debug_id is None else by_id.get(comments.debug_id)
        named = None if comments.mapping_url is None else _resolve(comments.mapping_url, path)
        if identified is not None:
            pairs.append(Pair(path, path, identified, Match.DEBUG_ID))
        elif comments.inline_map is not None:
            pairs.append(Pair(path, path, path, Match.INLINE))
        elif named in maps:
            pairs.append(Pair(path, path, named, Match.COMMENT))
        elif path + MAP_ENDING in maps:
            pairs.append(Pair(path, path, path + MAP_ENDING, Match.NAME))
        else:
            pairs.append(Pair(path, path, None, Match.NO_MAP))
    taken = {pair.map for pair in pairs}
    alone = [path for path in sorted(maps) if path not in taken and path.removesuffix(MAP_ENDING) not in bundles]
    return pairs + [Pair(path.removesuffix(MAP_ENDING), None, path, Match.MAP_ALONE) for path in alone]


def _resolve(url: str, bundle: str) -> str:
    """Returns the path in the build folder that a bundle's comment names; a URL counts by its last part."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    name = unquote(parts.path)
    if parts.scheme or parts.netloc or name.startswith("/"):
        name = name.rpartition("/")[2]
    return posixpath.normpath(posixpath.join(posixpath.dirname(bundle), name))
