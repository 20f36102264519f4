"""The windows of a slice's views: their raw traces are joined, view by view, and summed up (`profcore.vitals`)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings

from aggregate.raw_bodies import load_raw_bodies
from aggregate.records import select_records
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.views.contributions import SliceView, ViewKey, iter_slice_views, select_slice_views
from aggregate.selectors.views.raw_traces import FROM_STORED, split_traces
from aggregate.selectors.views.samples import select_sampled_views
from ingest.door.limits import envelope_limits
from profcore.formats.timeline import ViewTrace, build_timeline
from profcore.stats.sampling import sample_key
from profcore.trace.funcs import FuncTable, clean_url
from profcore.trace.marks import read_marks
from profcore.trace.wire import decode_envelope
from profcore.vitals.window_sums import WindowSums, sum_windows
from profcore.vitals.windows import ViewWindows, find_windows

# Views whose traces are looked up by one statement.
LOOKED_UP: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _KeptTrace:
    """A folded trace of a view, with the key of its raw body."""

    view_id: UUID
    group_id: int
    seq: int
    received_at: datetime
    body_bytes: int
    has_body: bool


@dataclass(frozen=True, slots=True)
class WindowedView:
    """A view with its windows. Funcs are indexes of the reader's `funcs`."""

    view: SliceView
    windows: ViewWindows
    sums: Mapping[str, WindowSums]


class WindowReader:
    """Reads the windows of a slice's views.

    `population` is the number of views that the reading is about, `read` those that were read, and `gone` those that
    could not be, because raw bodies of theirs have expired.
    """

    def __init__(self, slice_: Slice, *, only_slow: bool = False) -> None:
        self.slice_ = slice_
        self.only_slow = only_slow
        self.funcs = FuncTable()
        self.read = 0
        self.gone = 0

    def read_sample(self, population: int) -> Iterator[WindowedView]:
        """Yields views in the uniform order, at most `VITALS_MAX_VIEWS`, within the limits of an answer.

        Three statements, and one for each batch of bodies.
        """
        most = settings.VITALS_MAX_VIEWS
        keys = select_sampled_views(self.slice_, most=most, population=population)
        wanted = Slice(project_id=self.slice_.project_id, views=tuple({view_id for view_id, _ in keys}))
        found = {(view.view_id, view.group_id): view for view in select_slice_views(wanted, keep_funcs=())}
        views = [found[key] for key in sorted(keys, key=lambda key: (sample_key(key[0]), key)) if key in found]
        traces = self._select_stored(views)
        read_traces = read_bytes = 0
        chosen: list[SliceView] = []
        for view in views:  # a part of the uniform order is a uniform sample too
            own = traces[view.view_id, view.group_id]
            read_traces += len(own)
            read_bytes += sum(trace.body_bytes for trace in own)
            if chosen and (read_traces > settings.VITALS_MAX_TRACES or read_bytes > settings.READ_MAX_RAW_BYTES):
                break
            chosen.append(view)
        yield from self._read(chosen, traces, settings.JOB_BATCH_TRACES)

    def read_all(self, reading: Reading) -> Iterator[WindowedView]:
        """Yields all views of the slice, page by page. Reports traces to the reading."""
        for page in iter_slice_views(self.slice_, reading):
            for start in range(0, len(page), LOOKED_UP):
                views = page[start : start + LOOKED_UP]
                traces = self._select_stored(views)
                yield from self._read(views, traces, reading.batch_traces)
                reading.on_traces(sum(map(len, traces.values())))

    def _read(
        self, views: Sequence[SliceView], traces: Mapping[ViewKey, Sequence[_KeptTrace]], batch_traces: int
    ) -> Iterator[WindowedView]:
        kept: list[_KeptTrace] = []
        for view in views:
            own = traces[view.view_id, view.group_id]
            if own and all(trace.has_body for trace in own):
                kept += own
            else:
                self.gone += 1
        by_view = {(view.view_id, view.group_id): view for view in views}
        waiting: dict[ViewKey, list[tuple[_KeptTrace, bytes]]] = {}
        for batch in split_traces(kept, batch_traces):
            bodies = load_raw_bodies(
                self.slice_.project_id, [(trace.view_id, trace.seq, trace.received_at) for trace in batch]
            )
            for trace in batch:
                key = trace.view_id, trace.group_id
                if (stored := bodies.get((trace.view_id, trace.seq))) is not None:
                    waiting.setdefault(key, []).append((trace, stored.expand()))
            last = batch[-1].view_id, batch[-1].group_id  # only this view may go on in the next batch
            for key in [key for key in waiting if key != last]:
                yield from self._window(by_view[key], waiting.pop(key), len(traces[key]))
        for key, joined in waiting.items():
            yield from self._window(by_view[key], joined, len(traces[key]))

    def _window(
        self, view: SliceView, traces: Sequence[tuple[_KeptTrace, bytes]], expected: int
    ) -> Iterator[WindowedView]:
        if len(traces) < expected:  # bodies expired meanwhile
            self.gone += 1
            return
        joined = []
        for _, body in traces:
            envelope = decode_envelope(body, envelope_limits())
            page_url = clean_url(envelope.url) if envelope.url else None
            joined.append(ViewTrace(envelope, read_marks(body, page_url=page_url, page=view.page)))
        timeline = build_timeline(joined, page=view.page, funcs=self.funcs)
        windows = find_windows(timeline.marks)
        if self.only_slow:
            windows = windows.only_slow()
        self.read += 1
        yield WindowedView(view, windows, sum_windows(timeline, windows))

    def _select_stored(self, views: Sequence[SliceView]) -> dict[ViewKey, list[_KeptTrace]]:
        """Returns the traces of each view. One statement."""
        found: dict[ViewKey, list[_KeptTrace]] = {(view.view_id, view.group_id): [] for view in views}
        rows = select_records(
            _KeptTrace,
            f"""SELECT r.view_id, r.group_id, r.seq, r.received_at, r.body_bytes, t.view_id IS NOT NULL AS has_body
                FROM unnest(%(views)s::uuid[], %(groups)s::int[]) AS w (view_id, group_id) {FROM_STORED}
                ORDER BY r.view_id, r.group_id, r.seq""",
            {
                "project_id": self.slice_.project_id,
                "views": [view.view_id for view in views],
                "groups": [view.group_id for view in views],
            },
        )
        for row in rows:
            found[row.view_id, row.group_id].append(row)
        return found
