"""The sampling interval in use: the one that the browser reports, held against the gaps of the trace itself.

The cap on gaps and the weight of the last sample follow it, in sums, exports and timelines alike.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Final

# A gap longer than this many intervals is a suspended tab or a starved sampler, not one function running: 0.8 % of the
# JS time of 560 recorded traces (2026-11-21) lies beyond.
GAP_CAP_TICKS: Final = 10
# What may be posted, ms. Browsers sample every 10 or 16 ms, a page may ask for less often. The last sample weighs one
# interval and a gap up to ten, so a sender with a public key could make days out of a hundred samples.
MIN_POSTED_MS: Final = 1.0
MAX_POSTED_MS: Final = 1_000.0
# The longest interval in use, also of traces that were stored or imported before: a span ends at most a second after
# its last sample.
MAX_USED_US: Final = 1_000_000
# With fewer gaps above zero, the report is taken: in short chunks, a burst or a busy thread could be most of them.
MIN_GAPS: Final = 20
# The report is wrong if it is off by more than this factor. Of 647 recorded traces (2026-11-21) one is: its browser
# reported 10 ms, and sampled every 20.
DISAGREES_FROM: Final = 2


def settle_interval(reported_us: int, ascending: Sequence[int]) -> int:
    """Returns the interval in use, µs. `ascending` are the gaps between samples, µs, those of zero included.

    A trace with at least `MIN_GAPS` gaps above zero decides if the report disagrees with it. Gaps of exactly the cap do
    not count: importers divide longer times into these.

    - The report is too short if the median gap is more than `DISAGREES_FROM` times as long. Bursts only make gaps
      shorter, so the sampler is slower than that. The median is used.
    - It is too long if 95 % of the gaps are shorter than a `DISAGREES_FROM`th of it. The median cannot say so: in a
      burst most gaps are tiny (0.6 ms in a recorded trace of 10 ms). The 95th percentile is used.
    """
    used = max(reported_us, 1)
    cap = GAP_CAP_TICKS * used
    gaps = [
        *ascending[bisect_right(ascending, 0) : bisect_left(ascending, cap)],
        *ascending[bisect_right(ascending, cap) :],
    ]
    if (count := len(gaps)) >= MIN_GAPS:
        median, high = gaps[count // 2], gaps[count * 95 // 100]
        if median > DISAGREES_FROM * used:
            used = median
        elif used > DISAGREES_FROM * high:
            used = high
    return min(used, MAX_USED_US)
