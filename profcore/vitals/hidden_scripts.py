"""Scripts that no trace shows, by origin: of other sites, without CORS. What they took of a view, between two bounds.

The browser hides such scripts from the profiler. A long animation frame still says that one ran, from where and for how
long, without its function and position. At most, all of that time is the origin's, except where samples saw the page's
own functions. At least it is the part in which samples saw a busy page without a stack. Frames under 50 ms are not
reported, and what the page's own functions call there counts for them: nothing is known of both.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from profcore.formats.timeline import ViewTimeline
from profcore.trace.weights import KIND_HIDDEN, KIND_JS
from profcore.vitals.forced_layout import ForcedScript
from profcore.vitals.window_sums import SampleTimes

MAX_ORIGINS: Final = 50  # of a view, those of most time: a page has some ten
WEB: Final = frozenset({"http", "https"})


class OriginTime(NamedTuple):
    """What an origin's hidden scripts took of a view, µs: at least, and at most."""

    least_us: int
    most_us: int


class HiddenScript(NamedTuple):
    """A script that no trace shows, with its origin."""

    origin: str
    script: ForcedScript


def find_hidden_scripts(scripts: Iterable[ForcedScript], page_url: str | None) -> list[HiddenScript]:
    """Returns the hidden scripts among those of a view (`find_scripts`); none if its page is not known."""
    own = origin_of_address(page_url or "")
    if own is None:
        return []
    origins = ((origin_of_address(script.address), script) for script in scripts if script.is_hidden)
    return [HiddenScript(origin, script) for origin, script in origins if origin is not None and origin != own]


def _see_script(timeline: ViewTimeline, times: SampleTimes, script: ForcedScript) -> tuple[int, int]:
    """Returns what samples saw during a script, µs: the page's own functions, and a busy page without a stack."""
    seen_us = hidden_us = 0
    first = max(bisect_left(times.start, script.start_us) - 1, 0)
    for at in range(first, bisect_left(times.start, script.end_us)):
        us = min(times.end[at], script.end_us) - max(times.start[at], script.start_us)
        if us > 0:
            kind = timeline.samples.kind[times.place[at]]
            seen_us += us if kind == KIND_JS else 0
            hidden_us += us if kind == KIND_HIDDEN else 0
    return seen_us, hidden_us


def sum_origins(hidden: Iterable[HiddenScript], seen: Iterable[tuple[int, int]]) -> Mapping[str, OriginTime]:
    """Returns the hidden time of a view by origin, such as `https://tag.example`. `seen` is of each hidden script."""
    sums: dict[str, OriginTime] = {}
    for (origin, script), (seen_us, hidden_us) in zip(hidden, seen, strict=True):
        known = sums.get(origin, OriginTime(0, 0))
        most_us = script.end_us - script.start_us - seen_us
        sums[origin] = OriginTime(known.least_us + hidden_us, known.most_us + most_us)
    first_origins = sorted(sums, key=lambda origin: (-sums[origin].most_us, origin))[:MAX_ORIGINS]
    return {origin: sums[origin] for origin in first_origins}


def sum_hidden_scripts(
    timeline: ViewTimeline, scripts: Sequence[ForcedScript], times: SampleTimes, page_url: str | None
) -> Mapping[str, OriginTime]:
    """Returns the hidden time of a view by origin. `scripts` are those of its marks (`find_scripts`)."""
    hidden = find_hidden_scripts(scripts, page_url)
    return sum_origins(hidden, [_see_script(timeline, times, found.script) for found in hidden])


def origin_of_address(address: str) -> str | None:
    """Returns the origin of a web address, None of any other."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in WEB or not host:
        return None
    name = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{name}{'' if port is None else f':{port}'}"
