"""Identity across releases: which func of one release is which of another, where no source map says so.

Unmapped, a func is the same if its URI without the content hash, its name and its position are. A minified or empty
name alone proves nothing, so a func that moved is one that went and one that came.
"""

import re
from typing import Final

from profcore.funcs import FuncKey

# What bundlers put before a file's ending: `-KP2WQT7F.js` (esbuild, Vite), `.3f8a9c1d.chunk.js` (webpack). Eight or
# more letters and digits with at least one digit, or all in capitals: words of a file's own name stay.
CONTENT_HASH: Final = re.compile(
    r"(?<=[^/])[-._~](?=[0-9A-Za-z_]*\d|[0-9A-Z_]{8,}(?=\.|-))[0-9A-Za-z_]{8,64}(?=(\.[A-Za-z0-9]{1,12}){1,3}$)"
)


def without_hash(uri: str) -> str:
    """Returns a script's URI without the content hash in its file name."""
    head, slash, name = uri.rpartition("/")
    return head + slash + CONTENT_HASH.sub("", name)


def identity_of(key: FuncKey) -> FuncKey:
    """Returns what a func is known by across releases."""
    return key if key.uri is None else key._replace(uri=without_hash(key.uri))
