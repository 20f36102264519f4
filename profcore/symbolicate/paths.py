"""Names of sources and scripts: paths that are equal in all maps and releases, and URLs with a hash."""

import re
from typing import Final
from urllib.parse import unquote, urlsplit

from profcore.trace.addresses import canonical_origin, canonical_path, escape_path
from profcore.trace.funcs import UNSTORABLE, resource_uri

ANYWHERE: Final = "~/"  # the prefix of scripts whose address is not known: their debug ids say which they are
MAX_PATH_CHARS: Final = 1_000  # parts of a source's path; more is noise
SCHEME: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):(?://([^/]*))?")  # two letters at least: C: is a drive
DRIVE: Final = re.compile(r"^[A-Za-z]:(?=[\\/])")
PLACEHOLDER: Final = re.compile(r"^\[[a-z-]+\]$")  # turbopack's [project]
HASH_TOKENS: Final = re.compile(r"[-.]([A-Za-z0-9_]{8,64})(?=\.)")
HEX_HASH: Final = re.compile(r"(?=.*[0-9])(?=.*[a-f])[0-9a-f]{8,64}")
BASE32_HASH: Final = re.compile(r"[A-Z2-7]{8}")  # esbuild's
BASE64_HASH: Final = re.compile(r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_]{8,22}")  # Vite's, Rollup's


def source_path(name: str, file: str) -> str:
    """Returns the path of an original source from the root of the build, without the bundler's additions.

    `name` is the map's name of it, after the map's root. `file` is the map's own path in the build folder; a relative
    name is relative to it. Scheme, host and `?…` are dropped, and steps out of the folder too: a map does not say where
    the sources are. Everything before `node_modules` is dropped.
    """
    path = UNSTORABLE.sub("", name).partition("?")[0]
    match = SCHEME.match(path)
    path = "/" + path[match.end() :] if match else DRIVE.sub("", path).replace("\\", "/")
    folder = [] if path.startswith("/") else file.split("/")[:-1]
    parts: list[str] = []
    for part in [*folder, *path.split("/")]:
        if part == "..":
            del parts[-1:]
        elif part not in ("", ".") and not PLACEHOLDER.match(part):
            parts.append(part)
    if "node_modules" in parts:
        parts = parts[parts.index("node_modules") :]
    return "/".join(parts)[-MAX_PATH_CHARS:]


def script_uri(prefix: str, file: str) -> str:
    """Returns the URI under which a script's funcs are stored: a URL prefix and the file's path in the build folder.

    It is written as browsers do: scheme and host in small letters and their wire form, no default port. The path has
    its canonical spelling; a `%` in a file's name begins no escape.
    """
    if prefix == ANYWHERE:
        return prefix + escape_path(file)
    parts = urlsplit(prefix)
    origin = canonical_origin(parts.scheme, parts.netloc.rpartition("@")[2])
    path = canonical_path(parts.path.rstrip("/")) + "/" + escape_path(file)
    return resource_uri(origin + path, None, "")


def is_url_prefix(text: str) -> bool:
    """Returns whether this can be the prefix of scripts: a URL with scheme and host, without query and fragment.

    `file:` needs no host. The host may begin with `*.`, which stands for all subdomains.
    """
    try:
        parts = urlsplit(text)
        _ = parts.port  # raises if it is no number
    except ValueError:
        return False
    if parts.query or parts.fragment or not text.isprintable() or "*" in parts.netloc.removeprefix("*."):
        return False
    is_file = parts.scheme == "file" and text[len("file:") :].startswith("///")
    return is_file or bool(parts.scheme and parts.netloc.removeprefix("*."))


def has_content_hash(uri: str) -> bool:
    """Returns whether a script's file name has a content hash, so that one URL never has two contents.

    In doubt it has none. Then a release's scripts are labelled only by its own upload.
    """
    name = unquote(uri.rpartition("/")[2])
    return any(
        HEX_HASH.fullmatch(token) or BASE32_HASH.fullmatch(token) or BASE64_HASH.fullmatch(token)
        for token in HASH_TOKENS.findall(name)
    )
