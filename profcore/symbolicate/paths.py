"""What sources and scripts are called: paths that are the same in every map and release, and URLs with a hash."""

import re
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from profcore.funcs import UNSTORABLE, resource_uri

MAX_PATH_CHARS: Final = 1_000  # of a source's path; more is noise
SCHEME: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):(?://([^/]*))?")  # two letters at least: C: is a drive
DRIVE: Final = re.compile(r"^[A-Za-z]:(?=[\\/])")
DEFAULT_PORTS: Final = {"https": ":443", "http": ":80"}
PLACEHOLDER: Final = re.compile(r"^\[[a-z-]+\]$")  # turbopack's [project]
HASH_TOKENS: Final = re.compile(r"[-.]([A-Za-z0-9_]{8,64})(?=\.)")
HEX_HASH: Final = re.compile(r"(?=.*[0-9])(?=.*[a-f])[0-9a-f]{8,64}")
BASE32_HASH: Final = re.compile(r"[A-Z2-7]{8}")  # esbuild's
BASE64_HASH: Final = re.compile(r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])[A-Za-z0-9_]{8,22}")  # Vite's, Rollup's


def source_path(name: str, file: str) -> str:
    """Returns the path of an original source, from the root of the build, without the bundler's noise.

    `name` is what the map calls it, behind the map's root; `file` is the map's own path in the build folder, against
    which a relative name counts. Scheme, host and `?…` go, and what leads out of the folder: where the sources lie is
    not told by a map. In `node_modules`, what stands before it goes too.
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
    """Returns the URI under which funcs of a script are stored: a file's path in the build folder behind a URL.

    As browsers have it: scheme and host in small letters, no default port, other letters of the path in UTF-8, escaped.
    """
    parts = urlsplit(prefix)
    host = parts.netloc.lower().removesuffix(DEFAULT_PORTS.get(parts.scheme, ""))
    path = parts.path.rstrip("/") + "/" + quote(file, safe="/~!$&'()*+,;=:@")
    return resource_uri(f"{parts.scheme}://{host}{path}", None, "")


def is_url_prefix(text: str) -> bool:
    """Tells whether scripts can lie behind this: a URL with a scheme and a host, without query and fragment."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc) and not (parts.query or parts.fragment) and text.isprintable()


def has_content_hash(uri: str) -> bool:
    """Tells whether a script's file name has a hash of its content in it, so that one URL never has two contents.

    In doubt it has none: a release's scripts are then labelled by its own upload alone.
    """
    name = unquote(uri.rpartition("/")[2])
    return any(
        HEX_HASH.fullmatch(token) or BASE32_HASH.fullmatch(token) or BASE64_HASH.fullmatch(token)
        for token in HASH_TOKENS.findall(name)
    )
