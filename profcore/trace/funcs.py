"""Funcs: from wire frames to the stored identity of a function.

A wire frame says where a function is *defined*. Its identity is (resource URI, line, column, name); the stored key is
a digest of it. Names and URLs are hostile input.
"""

import hashlib
import re
import struct
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from profcore.trace.addresses import canonical_uri
from profcore.trace.wire import Snippet, Trace

DIGEST_BYTES: Final = 16
# The built-ins that are our own cost when they are the leaf of a stack.
PROFILER_NAMES: Final = frozenset({"Profiler", "stop"})
# The functions by which a browser enters the snippet have this name, quoted in its source, so that minifiers keep it.
SNIPPET_NAME: Final = "fieldflame:run"
# Samples in functions of that name, and in those that they call: more are a page's own work. A slow phone has 8 of 50.
MOST_NAMED_SAMPLES: Final = 10
MOST_NAMED_PART: Final = 10
# Where the functions of each version of the snippet's own script are: lines and columns, as its build writes them.
SNIPPET_FUNCTIONS: Final = msgspec.json.decode(
    (Path(__file__).parents[1] / "data" / "snippet-functions.json").read_bytes(),
    type=dict[str, frozenset[tuple[int, int]]],
)
# What `find_profiler_stacks` notes of a stack, besides the index of a script.
NEITHER: Final = -1
SNIPPET: Final = -2
EXTENSION_SCHEME: Final = re.compile(r"^[a-z0-9.+-]*-extension$")
SCHEME: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):")
AUTHORITY: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//([^/]*@)")
# Of a script that is stored; browsers and servers accept little more. Whatever reads functions reads their URIs, and a
# post may have thousands of 65,536 characters, each of which takes up to twelve in canonical spelling.
MAX_URI_CHARS: Final = 2_000
CUT: Final = "…"
CUT_ESCAPE: Final = re.compile(r"%[0-9A-F]?\Z")
UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")


class FuncKey(NamedTuple):
    """A function's identity. Missing parts are None and equal to each other; line and column are 1-based."""

    uri: str | None
    line: int | None
    column: int | None
    name: str


def repair_text(text: str) -> str:
    """Repairs names and sourceURLs, which Chromium gives as UTF-8 read as Latin-1; keeps texts that do not fit this.

    Characters that Postgres cannot store (NUL, lone surrogates) become U+FFFD.
    """
    if text.isascii():
        return text if "\0" not in text else text.replace("\0", "\ufffd")
    with suppress(UnicodeError):
        text = text.encode("latin-1").decode("utf-8")
    return UNSTORABLE.sub("\ufffd", text)


def clean_url(url: str) -> str:
    """Returns the URL without query and fragment."""
    return url.split("#", 1)[0].split("?", 1)[0]


def resource_uri(uri: str, page_url: str | None, page: str) -> str:
    """Returns the URI under which a script is stored: without what is private, its path in canonical spelling.

    One that is longer than `MAX_URI_CHARS` is cut there, and ends with `CUT`, as no address does.
    """
    stripped = strip_uri(uri, page_url, page)
    is_inline = page_url is not None and clean_url(uri) == page_url  # then it has the route, which is no address
    stored = stripped if is_inline else canonical_uri(stripped[:MAX_URI_CHARS])
    if max(len(stripped), len(stored)) <= MAX_URI_CHARS:
        return stored
    return CUT_ESCAPE.sub("", stored[:MAX_URI_CHARS]) + CUT


def is_cut(uri: str) -> bool:
    """Returns whether a URI, as `resource_uri` gives it, was too long. In canonical spelling nothing ends like it."""
    return uri.endswith(CUT)


def strip_uri(uri: str, page_url: str | None, page: str) -> str:
    """Returns a URI without what is private.

    Query, fragment and credentials are dropped. `data:` and extensions keep only their scheme (an extension's id is
    personal data). `blob:` keeps its origin, or `null` if that is opaque. A script with the page's own URI is inline;
    it gets origin and route.
    """
    match = SCHEME.match(uri)
    scheme = match.group(1).lower() if match else ""
    if scheme == "data" or EXTENSION_SCHEME.match(scheme):
        return scheme + ":"
    if scheme == "blob":
        return "blob:" + _origin(uri[5:])
    uri = clean_url(uri)
    if page_url is not None and uri == page_url:
        return _origin(uri) + (page if page.startswith("/") else "/" + page)  # a client may name it without
    return _without_credentials(uri) if "@" in uri else uri


def _origin(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return "invalid:"
    if EXTENSION_SCHEME.match(parts.scheme):
        return parts.scheme + ":"
    if not parts.scheme:
        return "null"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _without_credentials(uri: str) -> str:
    match = AUTHORITY.match(uri)
    return uri[: match.start(1)] + uri[match.end(1) :] if match else uri


def read_uris(trace: Trace, *, page_url: str | None, page: str) -> list[str]:
    """Returns the URI under which each resource of a trace is stored."""
    return [resource_uri(repair_text(uri), page_url, page) for uri in trace.resources]


def read_func_keys(trace: Trace, *, page_url: str | None, page: str) -> list[FuncKey]:
    """Returns the identity of every frame of a trace, by frame id. `page_url` is cleaned, `page` the route."""
    uris = read_uris(trace, page_url=page_url, page=page)
    return [
        FuncKey(
            None if frame.resourceId is None else uris[frame.resourceId],
            frame.line,
            frame.column,
            repair_text(frame.name),
        )
        for frame in trace.frames
    ]


def find_profiler_stacks(trace: Trace, snippet: Snippet | None) -> list[bool]:
    """Returns of each stack whether it is the profiler's own work: what it ends in is the profiler's or the snippet's.

    `snippet` is the sender, as its envelope names it. A function of the snippet is known by the script's address and
    its position there, both of a version that is known here. In a site's own bundle neither is: there each way into the
    snippet has `SNIPPET_NAME`, and what it calls in the same script is the snippet's. Since any page can write that
    name, it stands for few samples of a trace, or for none. Built-ins belong to whoever calls them.
    """
    own = _find_own_frames(trace, snippet)
    if not own:
        return [False] * len(trace.stacks)
    owners: list[int] = []  # of the end of each stack: the snippet, the script that has it in its bundle, or neither
    for stack in trace.stacks:
        owner = own.get(stack.frameId)
        if owner is None:
            resource = trace.frames[stack.frameId].resourceId
            caller = NEITHER if stack.parentId is None else owners[stack.parentId]
            owner = caller if resource is None or resource == caller else NEITHER
        owners.append(owner)
    is_believed = _is_believed(trace, owners)
    return [owner == SNIPPET or (owner != NEITHER and is_believed) for owner in owners]


def _find_own_frames(trace: Trace, snippet: Snippet | None) -> dict[int, int]:
    """Returns the frames of the profiler and of the snippet, by number: `SNIPPET`, or the script that has its name."""
    scripts: set[int] = set()
    positions: Container[tuple[int | None, int | None]] = ()
    if snippet is not None and snippet.url:
        address, positions = clean_url(snippet.url), SNIPPET_FUNCTIONS.get(snippet.version, ())
        scripts = {number for number, uri in enumerate(trace.resources) if clean_url(uri) == address}
    own: dict[int, int] = {}
    for number, frame in enumerate(trace.frames):
        resource = frame.resourceId
        if resource is None:
            if frame.line is None and frame.name in PROFILER_NAMES:
                own[number] = SNIPPET
        elif resource in scripts and (frame.line, frame.column) in positions:
            own[number] = SNIPPET
        elif frame.name == SNIPPET_NAME:
            own[number] = resource
    return own


def _is_believed(trace: Trace, owners: Sequence[int]) -> bool:
    """Returns whether what is the snippet's by name only has no more samples than a snippet has."""
    if max(owners, default=NEITHER) < 0:
        return True
    named = sum(sample.stackId is not None and owners[sample.stackId] >= 0 for sample in trace.samples)
    return named <= max(MOST_NAMED_SAMPLES, len(trace.samples) // MOST_NAMED_PART)


def func_digest(project_id: int, key: FuncKey) -> bytes:
    """Returns the 128-bit key of a func in a project: BLAKE2b, keyed by the project, over its length-framed parts."""
    hasher = hashlib.blake2b(digest_size=DIGEST_BYTES, key=struct.pack("<q", project_id))
    uri = b"\0" if key.uri is None else b"\1" + key.uri.encode("utf-8", "surrogatepass")
    name = key.name.encode("utf-8", "surrogatepass")
    line = -1 if key.line is None else key.line
    column = -1 if key.column is None else key.column
    hasher.update(struct.pack("<qqII", line, column, len(uri), len(name)))
    hasher.update(uri)
    hasher.update(name)
    return hasher.digest()


# Stands for all funcs that a project has no room for. Browsers name no built-in so.
OTHER_FUNC: Final = FuncKey(None, None, None, "(other)")


class FuncTable:
    """Interns func keys: each distinct key gets the next index, in order of arrival.

    The keys in `beyond` count as `OTHER_FUNC`, as if the frames had said so.
    """

    __slots__ = ("_beyond", "_index", "_index_of_frame", "chars", "keys")

    def __init__(self, beyond: frozenset[FuncKey] = frozenset()) -> None:
        self._beyond = beyond
        self._index: dict[FuncKey, int] = {}
        self._index_of_frame: dict[tuple[str | None, int | None, int | None, str], int] = {}
        self.keys: list[FuncKey] = []
        self.chars = 0  # of all keys' names and URIs

    def intern_all(self, keys: Iterable[FuncKey]) -> list[int]:
        """Returns the index of each key."""
        index, beyond = self._index, self._beyond
        result = []
        for key in keys:
            if beyond and key in beyond:
                key = OTHER_FUNC  # noqa: PLW2901  # the same func under its other name
            number = index.get(key)
            if number is None:
                number = len(self.keys)
                index[key] = number
                self.keys.append(key)
                self.chars += len(key[3]) + len(key[0] or "")
            result.append(number)
        return result

    def intern_frames(self, trace: Trace, *, page_url: str | None, page: str) -> list[int]:
        """Returns the index of every frame's func, by frame id. `page_url` is cleaned, `page` the route.

        The traces of a batch mostly have the same frames, so repaired keys are found by the frame's original values.
        """
        uris = read_uris(trace, page_url=page_url, page=page)
        known = self._index_of_frame
        result = []
        for frame in trace.frames:
            resource = frame.resourceId
            said = (None if resource is None else uris[resource], frame.line, frame.column, frame.name)
            number = known.get(said)
            if number is None:
                (number,) = self.intern_all([FuncKey(*said[:3], repair_text(said[3]))])
                known[said] = number
            result.append(number)
        return result

    # What the compiled kernel asks for: only what no earlier trace of its batch had (profcore/kernel.py).

    def intern_said(self, said: Iterable[tuple[str | None, int | None, int | None, str]]) -> list[int]:
        """Returns the index of the func of each frame: (URI as `read_uri` gives it, line, column, name as sent)."""
        keys = [
            FuncKey._make(key) if key[3].isascii() and "\0" not in key[3] else FuncKey(*key[:3], repair_text(key[3]))
            for key in said
        ]
        return self.intern_all(keys)

    def read_uri(self, uri: str, page_url: str, page: str) -> str:
        """Returns the URI under which a script of a page is stored; `uri` is as sent."""
        return resource_uri(repair_text(uri), page_url, page)

    def read_plain_uri(self, uri: str) -> tuple[str, str]:
        """Returns the URI under which a script is stored on all pages except its own, and that page's address.

        Only on a page with this address (`clean_url`) is the script inline; there, `read_uri` has the URI.
        """
        text = repair_text(uri)
        return resource_uri(text, None, ""), clean_url(text)
