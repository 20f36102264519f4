"""A build folder: its bundles, its maps, and which map belongs to which bundle."""

import base64
import binascii
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final
from urllib.parse import unquote, unquote_to_bytes, urlsplit
from uuid import UUID

from profcore.symbolicate.comments import read_comments
from profcore.symbolicate.maps import read_debug_id
from profcore.trace.funcs import UNSTORABLE

BUNDLE_ENDINGS: Final = (".js", ".mjs", ".cjs")
MAP_ENDING: Final = ".map"
NO_SCRIPTS_MAPS: Final = (".css.map", ".d.ts.map", ".d.mts.map", ".d.cts.map")  # of style sheets and declarations


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
    """Returns whether a file is the source map of a script by its name; others are only if a bundle names them."""
    return path.lower().endswith(tuple(ending + MAP_ENDING for ending in BUNDLE_ENDINGS))


def may_be_map(path: str) -> bool:
    """Returns whether a file may be a map that belongs to a bundle by its debug id."""
    return path.lower().endswith(MAP_ENDING) and not path.lower().endswith(NO_SCRIPTS_MAPS)


def clean_path(path: str) -> str | None:
    """Returns a file's path within its folder; None if it leads out of the folder or has no name."""
    path = path.replace("\\", "/")
    if "\0" in path or path.startswith("/") or re.match("[A-Za-z]:", path):
        return None
    parts = [part for part in UNSTORABLE.sub("\ufffd", path).split("/") if part not in ("", ".")]
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


def pair_files(
    bundles: Mapping[str, BundleComments], maps: Mapping[str, UUID | None], url_prefixes: Sequence[str] = ()
) -> Sequence[Pair]:
    """Returns the scripts of a build, by path. `maps` has each map's debug id.

    A debug id decides first, then the name in the bundle's comment, then the file next to it. A map without a bundle
    stands for the script with its own name without `.map`.
    """
    by_id = {debug_id: path for path, debug_id in sorted(maps.items(), reverse=True) if debug_id is not None}
    pairs = []
    for path, comments in sorted(bundles.items()):
        identified = None if comments.debug_id is None else by_id.get(comments.debug_id)
        named = find_named_file(path, comments, maps, url_prefixes)
        if identified is not None:
            pairs.append(Pair(path, path, identified, Match.DEBUG_ID))
        elif comments.inline_map is not None:
            pairs.append(Pair(path, path, path, Match.INLINE))
        elif named is not None:
            pairs.append(Pair(path, path, named, Match.COMMENT))
        elif path + MAP_ENDING in maps:
            pairs.append(Pair(path, path, path + MAP_ENDING, Match.NAME))
        else:
            pairs.append(Pair(path, path, None, Match.NO_MAP))
    taken = {pair.map for pair in pairs}
    alone = [
        path for path in sorted(maps) if is_map(path) and path not in taken and path[: -len(MAP_ENDING)] not in bundles
    ]
    return pairs + [Pair(path[: -len(MAP_ENDING)], None, path, Match.MAP_ALONE) for path in alone]


def find_named_file(
    bundle: str, comments: BundleComments, files: Collection[str], url_prefixes: Sequence[str]
) -> str | None:
    """Returns the file among some of a build that a bundle's comment names, None if there is none.

    The name is resolved as browsers do it, with the bundle below a prefix. If that leads out of the build, it counts
    from the root of the build, and then by its last part next to the bundle.
    """
    if comments.mapping_url is None:
        return None
    try:
        parts = urlsplit(comments.mapping_url)
    except ValueError:
        return None
    folder = bundle.rpartition("/")[0]
    for name in (unquote(parts.path), parts.path):
        is_absolute = bool(parts.scheme or parts.netloc) or name.startswith("/")
        steps = []
        for prefix in url_prefixes:
            above = urlsplit(prefix)
            if is_absolute and parts.netloc and parts.netloc.lower() != above.netloc.lower():
                continue
            root = _walk(unquote(above.path))
            target = _walk(name if is_absolute else "/".join([*root, folder, name]))
            if target[: len(root)] == root:
                steps.append("/".join(target[len(root) :]))
        steps.append("/".join(_walk(name if is_absolute else f"{folder}/{name}")))
        steps.append("/".join(_walk(f"{folder}/{name.rpartition('/')[2]}")) if is_absolute else "")
        for path in steps:
            if path in files:
                return path
    return None


def _walk(path: str) -> list[str]:
    """Returns the folders of a path and its last part; steps out of the root stay there."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return parts
