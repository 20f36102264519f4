"""Debug ids of scripts, as pages and SDKs send them: which build's source map belongs to which script.

The bundlers' plugins give each script an id, and a line that notes it under the text of a stack, whose first URL is the
script's. Whoever sends a trace may take those texts as they are, or write URLs.
"""

import re
from collections.abc import Iterable
from itertools import islice
from typing import Final
from uuid import UUID

import msgspec

from profcore.symbolicate.maps import read_debug_id
from profcore.trace.funcs import is_cut, repair_text, resource_uri
from profcore.trace.wire import NULL, UNREADABLE

MAX_DEBUG_IDS: Final = 500  # of a trace: the scripts of a page are seldom more than a hundred
MAX_KEY_CHARS: Final = 4_096  # of a script's URL, or of a stack of ten calls
# Of a stack: `at https://shop.example/main.js:1:2`, `at run (https://…:1:2)`, and `run@https://…:1:2`.
URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s()]+")
POSITION: Final = re.compile(r":\d+:\d+$")
_decoder: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def read_debug_ids(sent: bytes) -> dict[str, UUID]:
    """Returns the debug ids of an envelope's field `debugIds`, by the URIs under which the scripts are stored.

    What is no pair of a URL and an id is passed over: the page's own scripts wrote it, and no trace is lost for it.
    """
    try:
        said = _decoder.decode(sent)
    except UNREADABLE:
        return {}
    found: dict[str, UUID] = {}
    for key, value in [*said.items()][:MAX_DEBUG_IDS]:
        uri, debug_id = _find_uri(key), read_debug_id(bytes(value).decode().strip('"'))
        if uri is not None and debug_id is not None:
            found.setdefault(uri, debug_id)
    return found


def write_debug_ids(pairs: Iterable[tuple[str | None, str | None]]) -> msgspec.Raw:
    """Returns that field of an envelope, from the URLs and the debug ids of scripts; empty if there are none."""
    found = {url: debug_id for url, debug_id in islice(pairs, MAX_DEBUG_IDS) if url and debug_id}
    return msgspec.Raw(msgspec.json.encode(found)) if found else NULL


def _find_uri(text: str) -> str | None:
    match = URL.search(text) if len(text) <= MAX_KEY_CHARS else None
    if match is None:
        return None
    uri = resource_uri(repair_text(POSITION.sub("", match.group())), None, "")
    return None if is_cut(uri) else uri
