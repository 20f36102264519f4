r"""Collapsed stacks: a line per call path, `main;render 1200`, in µs. flamegraph.pl, inferno and many others read them.

A frame is `label place`, so that funcs with the same name stay separate. Readers take a line for a path, and split it
at `;` and at the last space. So these characters are escaped in names, and `unescape` restores them. A space becomes a
no-break space, which looks the same; `;`, line breaks and control characters become `\x3b`, `\n`, …
"""

import re
from collections.abc import Iterator
from typing import Final

from profcore.formats.chart.model import Chart, ChartFunc, Paths
from profcore.formats.chart.parts import chart_of_difference, chart_of_segments
from profcore.formats.chart.slices import chart_of_slice
from profcore.formats.chart.views import chart_of_views
from profcore.formats.slice import DifferenceExport, SegmentedExport, SliceExport, TimelineExport
from profcore.formats.streaming import gather

NO_BREAK_SPACE: Final = "\u00a0"
# Everything that some reader takes for the end of a line or a word: control characters, all Unicode spaces, and `;`.
ESCAPED: Final = re.compile("[\0-\x20;\\\\\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
UNESCAPED: Final = re.compile(r"\\(?:([n\\])|x([0-9a-f]{2})|u([0-9a-f]{4}))|" + NO_BREAK_SPACE)


def write_slice(export: SliceExport) -> Iterator[bytes]:
    """Yields the collapsed stacks of a slice (UTF-8) in pieces; equal input gives equal bytes. No idle time."""
    yield from write_chart(chart_of_slice(export))


def write_timeline(export: TimelineExport) -> Iterator[bytes]:
    """Yields the collapsed stacks of some views, each below its own root frame if there are several."""
    yield from write_chart(chart_of_views(export))


def write_segments(export: SegmentedExport) -> Iterator[bytes]:
    """Yields the collapsed stacks of a slice's segments, each below its own root frame."""
    yield from write_chart(chart_of_segments(export, with_whole=False))


def write_difference(export: DifferenceExport) -> Iterator[bytes]:
    """Yields a difference as `path base head`, in ns per page view; `flamegraph.pl` colours it by the change."""
    chart = chart_of_difference(export)
    base, head = (chart.sum_runs([track])[0] for track in chart.tracks)
    stacks = _Stacks(chart)
    yield b""
    yield from gather(
        stacks.line(node, f"{before} {after}")
        for node, (before, after) in enumerate(zip(base, head, strict=True))
        if before or after
    )


def write_chart(chart: Chart) -> Iterator[bytes]:
    """Yields a chart with its paths in the chart's order. With several tracks, each has its own root frame."""
    yield b""  # so that an empty slice is an empty file: there is always a piece
    yield from gather(_lines(chart))


def _lines(chart: Chart) -> Iterator[bytes]:
    stacks = _Stacks(chart)
    for track in chart.tracks:
        root = f"{chart.tracks_by}:{NO_BREAK_SPACE}{escape(track.name)};" if len(chart.tracks) > 1 else ""
        for node, us in enumerate(chart.sum_runs([track])[0]):
            if us > 0:
                yield stacks.line(node, str(us), root)


class _Stacks:
    """The paths of a chart as text."""

    def __init__(self, chart: Chart) -> None:
        self._paths = Paths(chart)
        self._frames = [name_frame(func) for func in self._paths.funcs]

    def line(self, node: int, weights: str, root: str = "") -> bytes:
        """Returns a node's line: `root`, its path, and its weights."""
        return f"{root}{';'.join([self._frames[func] for func in self._paths.of(node)])} {weights}\n".encode()


def name_frame(func: ChartFunc) -> str:
    """Returns a func as a frame: its label, a no-break space, and the place of its definition."""
    place = func.place
    if place is None:
        return escape(func.label)
    parts = [escape(place.uri), *(str(number) for number in (place.line, place.column) if number is not None)]
    return f"{escape(func.label)}{NO_BREAK_SPACE}{':'.join(parts)}"


def escape(text: str) -> str:
    """Returns a text without characters at which readers split; `unescape` restores them."""
    return ESCAPED.sub(_escaped, text)


def unescape(text: str) -> str:
    """Returns the text that `escape` was given. Never raises: other text is left as it is."""
    return UNESCAPED.sub(_unescaped, text)


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    if character == " ":
        return NO_BREAK_SPACE
    if character in "\n\\":
        return {"\n": r"\n", "\\": r"\\"}[character]
    code = ord(character)
    return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"


def _unescaped(match: re.Match[str]) -> str:
    if match.group() == NO_BREAK_SPACE:
        return " "
    if match[1]:
        return "\n" if match[1] == "n" else "\\"
    return chr(int(match[2] or match[3], 16))
