"""Funcs: from wire frames to the stored identity of a function.

A wire frame says where a function is *defined*. Its identity is (resource URI, line, column, name); the stored key is
a digest of it. Names and URLs are hostile input.
"""

import hashlib
import re
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from profcore.trace.addresses import canonical_uri
from profcore.trace.hidden import Range
from profcore.trace.mark_types import FrameScript
from profcore.trace.weights import is_within, script_ranges, to_us
from profcore.trace.wire import Snippet, Trace

DIGEST_BYTES: Final = 16
# The built-ins that are our own cost when they are the leaf of a stack.
PROFILER_NAMES: Final = frozenset({"Profiler", "stop"})
# The functions by which a browser enters the snippet have this name, quoted in its source, so that minifiers keep it.
SNIPPET_NAME: Final = "fieldflame:run"
# Where the functions of each version of the snippet's own script are: lines and columns, as its build writes them.
SNIPPET_FUNCTIONS: Final = msgspec.json.decode(
    (Path(__file__).parents[1] / "data" / "snippet-functions.json").read_bytes(),
    type=dict[str, frozenset[tuple[int, int]]],
)
# Samples in the snippet's script, and those in functions of that name and in what they call. More are a page's own
# work. A slow phone has 8 of 50 in its first half second; a processor that is slowed down twentyfold 28 of 83.
MOST_SCRIPT_SAMPLES: Final = 20
MOST_SCRIPT_PART: Final = 2
MOST_NAMED_SAMPLES: Final = 10
MOST_NAMED_PART: Final = 10
# Whose the end of a stack is: of nobody here, of the profiler's built-ins, or of the snippet's script. Others are
# numbers of scripts that have the snippet by its name.
NEITHER: Final = -1
BUILTIN: Final = -2
SCRIPT: Final = -3
EXTENSION_SCHEME: Final = re.compile(r"^[a-z0-9.+-]*-extension$")
SCHEME: Final = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):")
AUTHORITY: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//([^/]*@)")
# Of a script that is stored; browsers and servers accept little more. Whatever reads functions reads their URIs, and a
# post may have thousands of 65,536 characters, each of which takes up to twelve in canonical spelling.
MAX_URI_CHARS: Final = 2_000
MOST_KNOWN_URIS: Final = 1_000  # of a batch, which has dozens: 2 MB of addresses as they were sent
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


def read_func_keys(trace: Trace, *, page_url: str | None, page: str) -> list[FuncKey]:
    """Returns the identity of every frame of a trace, by frame id. `page_url` is cleaned, `page` the route."""
    uris = [resource_uri(repair_text(uri), page_url, page) for uri in trace.resources]
    return [
        FuncKey(
            None if frame.resourceId is None else uris[frame.resourceId],
            frame.line,
            frame.column,
            repair_text(frame.name),
        )
        for frame in trace.frames
    ]


class ProfilerWork(NamedTuple):
    """The profiler's own work in a trace: whether each stack ends in it, and when scripts of the snippet ran, µs.

    `address` is the snippet's script, without query and fragment; None if it is not known.
    """

    stacks: list[bool]
    scripts: list[Range]
    address: str | None


def find_profiler_work(
    trace: Trace, snippet: Snippet | None, scripts: Sequence[FrameScript] | None = None
) -> ProfilerWork:
    """Returns which stacks end in the profiler, the snippet or a built-in that these called, and the snippet's scripts.

    `snippet` is the sender, as its envelope names it; `scripts` are those of the long animation frames. Its own script
    is known by the address and by its functions: all that are seen there must be where a known version has them.
    Otherwise each way into the snippet has `SNIPPET_NAME`, and what it calls in the same script is the snippet's too. A
    page could write both, so each stands for a part of a trace's samples only, or for none. Built-ins belong to whoever
    calls them.
    """
    address = _find_script(trace, snippet)
    ranges = script_ranges(script for script in scripts or () if clean_url(script.address) == address)
    own = _find_own_frames(trace, snippet, address)
    if not own and not ranges:
        return ProfilerWork([False] * len(trace.stacks), [], address)
    owners: list[int] = []  # of the end of each stack
    for stack in trace.stacks:
        owner = own.get(stack.frameId)
        if owner is None:
            frame, caller = trace.frames[stack.frameId], NEITHER if stack.parentId is None else owners[stack.parentId]
            is_builtin = frame.resourceId is None and frame.line is None  # code of `eval` has lines, and no address
            owner = caller if is_builtin or frame.resourceId == caller else NEITHER
        owners.append(owner)
    believed = _find_believed(trace, owners, ranges)
    stacks = [owner in believed for owner in owners]
    return ProfilerWork(stacks, ranges, address) if SCRIPT in believed else ProfilerWork(stacks, [], None)


def _find_script(trace: Trace, snippet: Snippet | None) -> str | None:
    """Returns the address of the snippet's script if its version is known, and no function seen there is another's."""
    if snippet is None or not snippet.url or snippet.version not in SNIPPET_FUNCTIONS:
        return None
    address, known = clean_url(snippet.url), SNIPPET_FUNCTIONS[snippet.version]
    numbers = {number for number, uri in enumerate(trace.resources) if clean_url(uri) == address}
    seen = [(frame.line, frame.column) for frame in trace.frames if frame.resourceId in numbers]
    return address if known.issuperset(seen) else None


def _find_own_frames(trace: Trace, snippet: Snippet | None, address: str | None) -> dict[int, int]:
    """Returns whose the frames of the profiler and the snippet are, by number: see `BUILTIN`."""
    named = address if snippet is None or not snippet.url else clean_url(snippet.url)
    at_name = {number for number, uri in enumerate(trace.resources) if named is not None and clean_url(uri) == named}
    own: dict[int, int] = {}
    with_name: set[int] = set()
    for number, frame in enumerate(trace.frames):
        resource = frame.resourceId
        if resource is None:
            if frame.line is None and frame.name in PROFILER_NAMES:
                own[number] = BUILTIN
        elif address is not None and resource in at_name:
            own[number] = SCRIPT
        elif frame.name == SNIPPET_NAME and (named is None or resource in at_name):
            own[number] = resource
            with_name.add(resource)
    if len(with_name) > 1:  # one of them is no snippet, and nothing says which
        return {number: owner for number, owner in own.items() if owner < 0}
    return own


def _find_believed(trace: Trace, owners: Sequence[int], ranges: Sequence[Range]) -> set[int]:
    """Returns the owners that have no more samples than the profiler has."""
    counts = Counter(owners[sample.stackId] for sample in trace.samples if sample.stackId is not None)
    if ranges:
        starts = [start for start, _ in ranges]
        times = (to_us(sample.timestamp) for sample in trace.samples if sample.stackId is None)
        counts[SCRIPT] += sum(is_within(ranges, starts, time) for time in times)
    count = len(trace.samples)
    most_by_script = max(MOST_SCRIPT_SAMPLES, count // MOST_SCRIPT_PART)
    most_by_name = max(MOST_NAMED_SAMPLES, count // MOST_NAMED_PART)
    believed = {owner for owner in {*owners} if owner >= 0 and counts[owner] <= most_by_name}
    return believed | {BUILTIN} | ({SCRIPT} if counts[SCRIPT] <= most_by_script else set())


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

    __slots__ = ("_beyond", "_index", "_index_of_frame", "_uri_of", "chars", "keys")

    def __init__(self, beyond: frozenset[FuncKey] = frozenset()) -> None:
        self._beyond = beyond
        self._index: dict[FuncKey, int] = {}
        self._index_of_frame: dict[tuple[str | None, int | None, int | None, str], int] = {}
        self._uri_of: dict[tuple[str, str | None, str], str] = {}
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
        uris = [self._read_known_uri(uri, page_url, page) for uri in trace.resources]
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

    def _read_known_uri(self, uri: str, page_url: str | None, page: str) -> str:
        """Returns the URI under which a script of a page is stored, as other traces of the batch may have it too."""
        sent = (uri, page_url, page)
        stored = self._uri_of.get(sent)
        if stored is None:
            stored = resource_uri(repair_text(uri), page_url, page)
            if len(uri) <= MAX_URI_CHARS and len(self._uri_of) < MOST_KNOWN_URIS:
                self._uri_of[sent] = stored
        return stored

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
