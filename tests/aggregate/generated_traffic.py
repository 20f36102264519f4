"""Generated field traffic for the properties of folds: few views and funcs, so that they meet, in awkward traces."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from hypothesis import strategies as st

from tests.envelopes import view_id_of
from tests.profcore.strategies import prefix_trees

NOW: Final = datetime.now(UTC)
# JSON of the wire.
Json = dict[str, Any]

RESOURCES: Final = ["https://shop.example/app.js", "https://shop.example/p0"]  # the second is the page's own: inline
# The same func twice, funcs that differ in one part of their key, built-ins, and the profiler's own two.
FRAMES: Final[list[Json]] = [
    {"name": "A", "resourceId": 0, "line": 1, "column": 1},
    {"name": "B", "resourceId": 0, "line": 2, "column": 1},
    {"name": "A", "resourceId": 0, "line": 1, "column": 1},
    {"name": "A", "resourceId": 0, "line": 1, "column": 2},
    {"name": "", "resourceId": 1, "line": 1, "column": 1},
    {"name": "setTimeout"},
    {"name": "Profiler"},
    {"name": "stop"},
]
# µs to the next sample: the interval, bursts, a step back, a starved sampler, a suspended tab.
GAPS_US: Final = (10_000, 10_000, 10_000, 0, 0, 1, 5, 9_995, -3_000, 40_000, 153_000)
MARKERS: Final = (None, None, None, None, "gc", "paint", "script", "nonsense")
REASONS: Final = ("timer", "stop", "pagehide", "buffer-full")
DEVICES: Final[tuple[Json, ...]] = ({"mobile": False}, {"mobile": False, "cores": 8}, {"mobile": True, "memory": 2})
CACHES: Final[tuple[Json, ...]] = ({}, {"cache": "cold"}, {"cache": "warm"})
NAVIGATIONS: Final[tuple[Json, ...]] = ({}, {"navigation": "load"}, {"navigation": "route"}, {"navigation": "bfcache"})
AGENTS: Final = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
    "nobody's",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """The facts that all traces of a view share. Only the page differs: one in `pages` by sequence number."""

    name: str
    release: str
    pages: tuple[str, ...]
    started_at: datetime
    device: int
    agent: int
    navigation: int
    cache: int

    @property
    def view_id(self) -> str:
        return view_id_of(self.name)


@st.composite
def casts(draw: st.DrawFn, size: int = 5) -> list[Visit]:
    """Draws the views of one example: some days old, on few pages and devices, so that several share a cell."""
    visits = []
    for number in range(size):
        days, hour, kind = draw(
            st.tuples(st.sampled_from((5, 5, 5, 5, 6, 3, 0)), st.integers(1, 2), st.integers(0, 255))
        )
        at = NOW - timedelta(minutes=kind) if days == 0 else (NOW - timedelta(days=days)).replace(hour=hour)
        pages = ("/p0", "/p1") if kind % 5 == 4 else ("/p0",) if kind % 5 < 3 else ("/p1",)
        release = "2.0.0" if kind // 5 % 4 == 3 else "1.0.0"
        visits.append(
            Visit(
                name=f"v{number}",
                release=release,
                pages=pages,
                started_at=at,
                device=max(kind // 20 % 6 - 3, 0),
                agent=int(kind > 200),
                navigation=max(kind // 40 - 3, 0),
                cache=max(kind % 9 - 6, 0),
            )
        )
    return visits


@st.composite
def recordings(
    draw: st.DrawFn,
    *,
    gaps_us: tuple[int, ...] = GAPS_US,
    min_samples: int = 0,
    max_samples: int = 9,
    most_tasks: int = 2,
    most_scripts: int = 2,
) -> Json:
    """Draws the fields of an envelope from one recording: trace, interval, marks, reason, rate. It may have no JS."""
    prefix, func = draw(prefix_trees(max_nodes=7, funcs=len(FRAMES)))
    # As many without a stack as with one, so that hidden runs have neighbours.
    places = st.just(-1) | st.integers(-1, len(prefix) - 1)
    gaps = st.tuples(st.sampled_from(gaps_us), places, st.sampled_from(MARKERS))
    drawn = draw(st.lists(gaps, min_size=min_samples, max_size=max_samples))
    start = draw(st.sampled_from((0, -2_000, 400_005)))
    samples, times, at = [], [], start
    for gap, stack, marker in drawn:
        sample: Json = {"timestamp": at / 1000}
        if stack >= 0:
            sample["stackId"] = stack
        if marker:
            sample["marker"] = marker
        samples.append(sample)
        times.append(at)
        at += gap
    stacks = [{"frameId": f} if p < 0 else {"frameId": f, "parentId": p} for p, f in zip(prefix, func, strict=True)]
    tasks = draw(st.lists(st.tuples(st.integers(0, 8), st.sampled_from((30_000, 90_000, 1))), max_size=most_tasks))
    marks: list[Json] = [
        {"type": "longtask", "start": times[place] / 1000, "duration": length / 1000}
        for place, length in tasks
        if place < len(times)
    ]
    if draw(st.booleans()):  # with a long animation frame, hidden time is divided
        scripts = draw(st.lists(st.tuples(st.integers(0, 8), st.sampled_from((15_000, 60_000))), max_size=most_scripts))
        sent = [
            {"start": times[place] / 1000, "duration": length / 1000} for place, length in scripts if place < len(times)
        ]
        render = draw(st.sampled_from((0, start / 1000 + 20, start / 1000 + 150)))  # 0: nothing was rendered
        marks.append({"type": "loaf", "start": start / 1000, "duration": 200, "scripts": sent, "renderStart": render})
    return {
        "sampleInterval": draw(st.sampled_from((10, 10, 16.5))),
        "reason": draw(st.sampled_from(REASONS)),
        "sampleRate": draw(st.sampled_from((1, 0.1))),
        "marks": marks,
        "trace": {"resources": RESOURCES, "frames": FRAMES, "stacks": stacks, "samples": samples},
    }


def envelope_of(visit: Visit, seq: int, recording: Json) -> Json:
    """Returns the envelope of a view's trace."""
    started_ms = visit.started_at.timestamp() * 1000
    return {
        "viewId": visit.view_id,
        "seq": seq,
        "release": visit.release,
        "page": visit.pages[seq % len(visit.pages)],
        "viewStart": started_ms,
        "timeOrigin": started_ms + seq,
        "device": DEVICES[visit.device],
        "userAgent": AGENTS[visit.agent],
        **NAVIGATIONS[visit.navigation],
        **CACHES[visit.cache],
        **recording,
    }


@st.composite
def traffic(draw: st.DrawFn, size: int = 5, max_traces: int = 12) -> list[Json]:
    """Draws different traces of some views, in the order of their drawing."""
    cast = draw(casts(size))
    places = st.tuples(st.integers(0, size - 1), st.integers(0, 3))
    drawn = draw(st.lists(st.tuples(places, recordings()), min_size=1, max_size=max_traces, unique_by=lambda t: t[0]))
    return [envelope_of(cast[visit], seq, recording) for (visit, seq), recording in drawn]
