"""Identity across releases: which func of one release is which of another. `docs/identity.md` explains it.

With a source map, a func is identified by its original: path and name, and if these are not enough, its body. Without
one, it is the same if its URI without the content hash, its name and its position are equal. A minified or empty name
proves nothing, so an unmapped func that moved counts as one gone and one new func.
"""

import hashlib
import re
from typing import Final, NamedTuple

from profcore.caching import cached
from profcore.trace.funcs import FuncKey

# Bundlers put a hash before a file's ending: `-KP2WQT7F.js` (esbuild, Vite), `.3f8a9c1d.chunk.js` (webpack). It has
# eight or more letters and digits, with at least one digit or all in capitals: words of the file's own name stay.
CONTENT_HASH: Final = re.compile(
    r"(?<=[^/])[-._~](?=[0-9A-Za-z_]*\d|[0-9A-Z_]{8,}(?=\.|-))[0-9A-Za-z_]{8,64}(?=(\.[A-Za-z0-9]{1,12}){1,3}$)"
)
# An id has a part for the source and a part for the func in it: five bytes each, in hexadecimal.
PART_BYTES: Final = 5
MAPPED_ID: Final = re.compile(r"m([0-9a-f]{10})([0-9a-f]{10})")


class Original(NamedTuple):
    """Where a func is defined in its original source, in one release.

    `source` is the path that is equal in all releases (`canonical_source`); `line` and `column` are 1-based. `name` is
    None for an anonymous function. `body_hash` is a digest of its text without names, None if that is too short.
    `standing` distinguishes an anonymous function, or one of several with the same name, from the others of its source
    (profcore.symbolicate.standing); it is None for a unique one, or if the text is not known.
    """

    source: str
    line: int
    column: int
    name: str | None = None
    body_hash: bytes | None = None
    standing: str | None = None


@cached(entries=1_000, chars=1_000)  # thousands of functions are of a few scripts
def without_hash(uri: str) -> str:
    """Returns a script's URI without the content hash in its file name."""
    head, slash, name = uri.rpartition("/")
    return head + slash + CONTENT_HASH.sub("", name)


def identity_of(key: FuncKey) -> FuncKey:
    """Returns the identity of an unmapped func across releases."""
    return key if key.uri is None else FuncKey(without_hash(key.uri), key.line, key.column, key.name)


def mapped_id(original: Original, *, is_doubtful: bool) -> str:
    """Returns the id of a mapped func across releases: `m` and 20 hexadecimal digits.

    Its standing distinguishes it from others of its source. If that is not known, and the func has no name or
    `is_doubtful` (in some release several functions of its source have its name), its body does. If the body is too
    short, its position does.
    """
    proof = ""
    if original.standing is not None:
        proof = f"s{original.standing}"
    elif is_doubtful or original.name is None:
        proof = original.body_hash.hex() if original.body_hash else f"{original.line}:{original.column}"
    rest = f"{'' if original.name is None else 'n' + original.name}\0{proof}"
    return f"m{source_part(original.source)}{_digest(rest)}"


def source_part(path: str) -> str:
    """Returns the part of an id that stands for its source."""
    return _digest(path)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=PART_BYTES).hexdigest()
