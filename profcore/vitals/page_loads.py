"""How soon a page was there: its vitals, of pages with the header that permits profiling, and without it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from profcore.errors import Reason, TraceError
from profcore.trace.wire import explain

# A code is an index into the tuple and is stored: append, never reorder.
LOAD_VITALS: Final = ("ttfb", "fcp", "lcp", "inp")
# Times are counted in buckets, each this much longer than the one before: far finer than what views differ by.
BUCKET_RATIO: Final = 1.05
LEAST_MS: Final = 1.0  # the upper end of bucket 0
MOST_MS: Final = 60_000.0  # who waits longer counts as if for a minute
BUCKETS: Final = math.ceil(math.log(MOST_MS / LEAST_MS, BUCKET_RATIO)) + 1


class PageLoadBody(msgspec.Struct, gc=False, kw_only=True):
    """A report as it was sent. Names are those of the wire (docs/ingest.md); times are ms."""

    on: int
    ttfb: float | None = None
    fcp: float | None = None
    lcp: float | None = None
    inp: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLoad:
    """A checked report: whether the page had the header, and the bucket of each vital that it has, by its code."""

    has_header: bool
    buckets: Mapping[int, int]


def read_page_load(fields: Mapping[str, str]) -> PageLoad:
    """Returns a checked report from query parameters. Raises `TraceError`."""
    known = {name: text for name, text in fields.items() if name in PageLoadBody.__struct_fields__}
    try:
        sent = msgspec.convert(known, PageLoadBody, strict=False)
    except msgspec.ValidationError as error:
        raise explain(error) from None
    if sent.on not in (0, 1):
        raise TraceError(Reason.INVALID_VALUE, "$.on", "It must be 1 if the page has the header, or 0.")
    times = {code: getattr(sent, name) for code, name in enumerate(LOAD_VITALS)}
    for code, ms in times.items():
        if ms is not None and not 0 <= ms < math.inf:
            raise TraceError(Reason.OUT_OF_RANGE, f"$.{LOAD_VITALS[code]}", "The time must be 0 or more ms.")
    if all(ms is None for ms in times.values()):
        raise TraceError(Reason.MISSING_FIELD, "$", f"The report needs one of {', '.join(LOAD_VITALS)}.")
    buckets = {code: bucket_of(ms) for code, ms in times.items() if ms is not None}
    return PageLoad(has_header=sent.on == 1, buckets=buckets)


def bucket_of(ms: float) -> int:
    """Returns the bucket of a time."""
    if ms < LEAST_MS:
        return 0
    return min(math.floor(math.log(ms / LEAST_MS, BUCKET_RATIO)) + 1, BUCKETS - 1)


def middle_ms(bucket: int) -> float:
    """Returns a time in the middle of a bucket."""
    return LEAST_MS * math.pow(BUCKET_RATIO, bucket - 0.5)
