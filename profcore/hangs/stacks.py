"""Call stacks as V8 writes them: the text of `Error.prototype.stack` without the error's own line.

A position is that of a *call*: where in the function the next frame was called, or where the innermost one was. A
profile's frames are where functions are *defined*. Chromium 156 writes the low byte of each UTF-16 unit only, so names
beyond Latin-1 are damaged. Texts are hostile input: one pass over at most `MAX_STACK_CHARS`, with patterns that never
backtrack.
"""

import re
from dataclasses import dataclass
from typing import Final

from profcore.trace.funcs import UNSTORABLE, resource_uri

MAX_STACK_CHARS: Final = 10_240  # 50 frames of 200 characters; what is cut are the outer frames
MAX_FRAMES: Final = 50  # browsers write 10, unless the page sets `Error.stackTraceLimit`
MAX_NAME_CHARS: Final = 200
MAX_POSITION: Final = 2**31 - 1
FRAME_START: Final = "at "
EVAL_START: Final = "eval at "
# Greedy up to the last two numbers, so that a port or a Windows drive belongs to the address.
POSITION: Final = re.compile(r"(?s)(?P<uri>.*):(?P<line>[0-9]{1,10}):(?P<column>[0-9]{1,10})")
WASM: Final = re.compile(r"(?P<uri>wasm://[^\s()]*?):wasm-function\[[0-9]+\]:0x[0-9a-f]+")
# What V8 writes before and after a function's own name.
NAME_WORDS: Final = re.compile(r"^(?:async )?(?:new )?")
ALIAS: Final = re.compile(r" \[as [^\]]*\]$")
# Locations that are no script: built-ins, and results of `Promise.all (index 0)`.
NO_SCRIPT: Final = ("<anonymous>", "native", "unknown location")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFrame:
    """One frame of a call stack. A built-in has no `uri`; a frame without a position has no `line` and `column`.

    `uri` is stored as that of a func (`profcore.trace.funcs.resource_uri`). With `is_eval`, the code was evaluated, and
    the place is that of the call of `eval`: the code itself has no address.
    """

    name: str
    uri: str | None = None
    line: int | None = None
    column: int | None = None
    is_eval: bool = False


def parse_stack(text: str, *, page_url: str, page: str) -> list[CallFrame]:
    """Returns the frames of a stack, the innermost first. Lines that are no frame are left out.

    `page_url` is the page's address without query and fragment, and `page` its route: inline scripts are stored under
    it. Of a long text, the innermost frames count.
    """
    is_cut = len(text) > MAX_STACK_CHARS
    lines = UNSTORABLE.sub("\ufffd", text[:MAX_STACK_CHARS]).split("\n")
    frames: list[CallFrame] = []
    for line in lines[:-1] if is_cut else lines:
        entry = line.strip()
        if entry.startswith(FRAME_START):
            frames.append(_parse_entry(entry.removeprefix(FRAME_START), page_url, page))
            if len(frames) == MAX_FRAMES:
                break
    return frames


def bare_name(name: str) -> str:
    """Returns a function's own name, as profiles have it, or "": `total` for `async Cart.total [as sum]`."""
    own = ALIAS.sub("", NAME_WORDS.sub("", name))
    own = own.rpartition(".")[2]
    return "" if own == "<anonymous>" else own


def _parse_entry(entry: str, page_url: str, page: str) -> CallFrame:
    """Parses what follows `at `: a name with its location in brackets, or only a location."""
    name, location = "", entry
    if entry.endswith(")"):
        # An eval's location has brackets of its own. Addresses have no spaces, so otherwise the last one begins it.
        start = entry.find(f" ({EVAL_START}")
        start = entry.rfind(" (") if start < 0 else start
        if start > 0:
            name, location = entry[:start], entry[start + 2 : -1]
    else:
        location = entry.removeprefix("async ")
    is_eval = location.startswith(EVAL_START)
    uri, line, column = _parse_location(_find_evaluator(location) if is_eval else location)
    name = name or ("" if uri is not None else entry)
    return CallFrame(
        name=name[:MAX_NAME_CHARS],
        uri=None if uri is None else resource_uri(uri, page_url, page),
        line=line,
        column=column,
        is_eval=is_eval,
    )


def _find_evaluator(location: str) -> str:
    """Returns the place in a script that evaluated the code, however many evals are between."""
    inner = location[location.rfind(EVAL_START) :]
    start = inner.find("(")
    end = inner.find(")", start)
    return inner[start + 1 : end] if 0 <= start < end else ""


def _parse_location(location: str) -> tuple[str | None, int | None, int | None]:
    """Returns the address, line and column of a location; None for what it does not have."""
    match = POSITION.fullmatch(location)
    if match is None:
        wasm = WASM.fullmatch(location)
        return (wasm["uri"] if wasm else None), None, None
    uri, line, column = match["uri"], int(match["line"]), int(match["column"])
    if uri in NO_SCRIPT or not uri or not (0 < line <= MAX_POSITION and 0 < column <= MAX_POSITION):
        return None, None, None
    return uri, line, column
