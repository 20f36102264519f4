"""The types of marks, and what long animation frames tell of their scripts and rendering, as a client sent it."""

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeGuard

import msgspec

from profcore.trace.wire import UNREADABLE, Mark

LONG_TASK: Final = "longtask"
LONG_FRAME: Final = "long-animation-frame"
# Different observers and libraries use these words for the same thing.
TYPE_ALIASES: Final = {
    "lcp": "largest-contentful-paint",
    "fcp": "first-contentful-paint",
    "fp": "first-paint",
    "cls": "layout-shift",
    "long-task": LONG_TASK,
    "loaf": LONG_FRAME,
    "inp": "interaction-to-next-paint",
    "event": "interaction",
    "first-input": "interaction",
    "user-mark": "mark",
    "user-measure": "measure",
}
# A frame's script was at work for at least 5 ms, or the browser does not report it: 10,000 are 50 s of one frame.
MAX_FRAME_SCRIPTS: Final = 10_000
# A script has about ten values. A list with more commas than this has too many scripts, and is not decoded.
MAX_FRAME_COMMAS: Final = 30 * MAX_FRAME_SCRIPTS
MAX_SCRIPT_MS: Final = 30 * 86_400_000.0  # as the wire's limit on times
START_NAMES: Final = ("start", "startTime")  # the contract's word, and that of the browser's own entries
ADDRESS_NAMES: Final = ("url", "sourceURL")  # in the same way

_elements: Final = msgspec.json.Decoder(list[msgspec.Raw])
_script: Final = msgspec.json.Decoder(dict[str, object])
_value: Final = msgspec.json.Decoder()


class FrameScript(NamedTuple):
    """A script of a long animation frame: start and duration in ms, and its address as it was sent, or ""."""

    start: float
    duration: float
    address: str


class LongFrames(NamedTuple):
    """The scripts of a trace's long animation frames, and from when to when each frame was rendered, in ms."""

    scripts: list[FrameScript]
    renderings: list[tuple[float, float]]


def is_long_frame(mark: Mark) -> bool:
    """Returns whether a mark is a long animation frame, in any of its spellings."""
    kind = mark.type.lower()
    return kind == LONG_FRAME or TYPE_ALIASES.get(kind) == LONG_FRAME


def read_scripts(mark: Mark) -> list[FrameScript] | None:
    """Returns the scripts of a long animation frame; None if the mark does not tell.

    It does not if `scripts` is absent, no list, or a list without any usable range. An empty list means that no script
    ran for long. Nothing is refused: what is no script with a usable range is left out.
    """
    sent = mark.scripts
    if bytes(sent).count(b",") > MAX_FRAME_COMMAS:
        return None
    try:
        elements = _elements.decode(sent)
    except UNREADABLE:
        return None
    scripts = []
    for element in elements[:MAX_FRAME_SCRIPTS]:
        try:
            script = _script.decode(element)
        except UNREADABLE:
            continue
        start = next((script[name] for name in START_NAMES if name in script), None)
        duration = script.get("duration")
        if _is_ms(start, -MAX_SCRIPT_MS) and _is_ms(duration, 0):
            address = next((script[name] for name in ADDRESS_NAMES if name in script), "")
            scripts.append(FrameScript(start, duration, address if isinstance(address, str) else ""))
    return scripts if scripts or not elements else None


def read_rendering(mark: Mark) -> tuple[float, float] | None:
    """Returns from when to when a long animation frame was rendered; None if it was not, or the mark does not tell.

    `renderStart` is 0 for a frame without rendering. What lies outside the frame is no such time.
    """
    try:
        start, end = _value.decode(mark.renderStart), mark.start + mark.duration
    except UNREADABLE:
        return None
    return (start, end) if _is_ms(start, mark.start) and start != 0 and start < end else None


def read_frames(marks: Iterable[Mark]) -> LongFrames | None:
    """Returns what the long animation frames that tell their scripts say; None if there is none."""
    told = [(mark, scripts) for mark in marks if is_long_frame(mark) and (scripts := read_scripts(mark)) is not None]
    if not told:
        return None
    return LongFrames(
        scripts=[script for _, scripts in told for script in scripts],
        renderings=[rendering for mark, _ in told if (rendering := read_rendering(mark)) is not None],
    )


def _is_ms(value: object, least: float) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= MAX_SCRIPT_MS
