"""What the traces of each SDK lack, next to what was measured of them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from aggregate.selectors.project.quality import MeasuredRow
from aggregate.selectors.slice.slices import Slice
from profcore.trace.dimensions import SDK

OURS: Final = "fieldflame"
OF_BOTH: Final = "The load of a page before the SDK starts. The interval is found from the samples."
LOSSES: Final[Mapping[str, Sequence[str]]] = MappingProxyType(
    {
        OURS: ("What the API itself does not see: the last section.",),
        "sentry": (
            "The end of a visit, after its last chunk. Visits left before their first span ends, and idle ones.",
            "Time without a span. By manual, half of each minute: a chunk holds 3,000 samples.",
            "Most hidden time: long tasks are told only while a span is open.",
            "The sampling rate: each view counts once. INP, and pages of chunks without a span.",
            OF_BOTH,
        ),
        "datadog": (
            "The end of a visit, after its last post: a minute, or a hidden tab.",
            "Visits under 5 seconds without a long task.",
            "Hidden time, except in long tasks. How a view began, and vitals.",
            OF_BOTH,
        ),
        "other": ("What a file or another sender leaves out is not known here.",),
    }
)


def explain_sdks(slice_: Slice, rows: Sequence[MeasuredRow]) -> list[tuple[MeasuredRow, str, Sequence[str]]]:
    """Returns what each SDK recorded of a slice, the query of that alone, and what its traces lack.

    Nothing if all is our own snippet's.
    """
    if all(row.sdk == OURS for row in rows):
        return []
    names = [(row, row.sdk or OURS) for row in rows]
    return [(row, slice_.with_values(SDK.name, name).query(), LOSSES[name]) for row, name in names]
