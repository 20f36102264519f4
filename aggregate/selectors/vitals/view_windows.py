"""The windows of a slice's views: their raw traces are joined, view by view, and summed up (`profcore.vitals`)."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings

from aggregate.raw_bodies import StoredBody, load_raw_bodies
from aggregate.selectors.page_views.contributions import (
    SliceView,
    iter_slice_views,
    select_slice_views,
    select_views_of,
)
from aggregate.selectors.page_views.raw_traces import FROM_STORED, split_traces
from aggregate.selectors.page_views.samples import select_sampled_views
from aggregate.selectors.page_views.view_rows import ViewKey
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice
from aggregate.sql import select_records
from ingest.limits import envelope_limits
from profcore.kernel import find_kernel
from profcore.stats.sampling import sample_key
from profcore.trace.dimensions import CAPTURE, CAPTURES, DIMENSIONS
from profcore.trace.funcs import FuncTable
from profcore.vitals.view_readers import ReadView, open_reader
from profcore.vitals.windows import ViewWindows

CAPTURE_AT: Final = DIMENSIONS.index(CAPTURE)
ONLY_SLOW: Final = CAPTURES.index("slow")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowedView:
    """A view with its windows. Funcs are indexes of the reader's `funcs`.

    Its forced layout, and its hidden scripts by origin, are None if they were not read, or are not known. Its slow rate
    is the share of views whose slow windows are kept; None if it is not another one than for all windows.
    """

    view: SliceView
    read: ReadView

    def rate_of(self, window: str) -> float:
        """Returns the share of the views with such a window that are known."""
        slow_rate = self.read.slow_rate
        is_slow = slow_rate is not None and self.read.windows.is_slow(window)
        return slow_rate if is_slow and slow_rate is not None else self.view.sample_rate


@dataclass(frozen=True, slots=True)
class _StoredView:
    """A view and its folded traces. `gone` and `too_large` of the views before it, in their order, are not readable."""

    view: SliceView
    traces: Sequence[_KeptTrace]
    gone: int
    too_large: int

    @property
    def size(self) -> int:
        """The expanded bytes of its traces."""
        return sum(trace.body_bytes for trace in self.traces)


class WindowReader:
    """Reads the windows of a slice's views.

    `population` is the number of views that the reading is about, if the reader knows it. `read` are those that were
    read, `gone` those whose raw bodies have expired, and `too_large` those with more traces or bytes than are read of
    one view (`VITALS_VIEW_MAX_…`): a view is joined in memory. Where a limit of an answer ends the reading, these are
    counted up to the last view that was read, so that all three are of the same uniform sample. With
    `only_interactions`, other windows are not summed, and a large table of funcs is dropped.

    Views of which only slow moments were kept have their slow windows, if the slice does not choose others: a slow
    window of any view is kept at one rate. `only_slow_views` were read. With `only_whole`, only views that were kept
    whole are read.
    """

    def __init__(
        self, slice_: Slice, *, only_slow: bool = False, only_interactions: bool = False, only_whole: bool = False
    ) -> None:
        self.slice_ = slice_ if only_whole else slice_.with_slow_views()
        self.only_slow = only_slow
        self.only_interactions = only_interactions
        self._open_table()
        self.population = 0
        self.read = 0
        self.gone = 0
        self.too_large = 0
        self.only_slow_views = 0

    def read_sample(self, population: int, *, most: int) -> Iterator[WindowedView]:
        """Yields views in the uniform order, at most `most`, within the limits of an answer.

        Three statements, and one for each batch of bodies.
        """
        keys = select_sampled_views(self.slice_, most=most, population=population)
        view_of_key = select_views_of(self.slice_.project_id, keys)
        yield from self._read_at_once([view_of_key[key] for key in keys if key in view_of_key])
        self.population = population

    def read_named(self) -> Iterator[WindowedView]:
        """Yields the views of a slice that names some, in the uniform order and within the limits of an answer.

        Raises `SliceTooLarge` if there are more than `VITALS_MAX_VIEWS`.
        """
        reading = replace(Reading.at_once(), max_views=settings.VITALS_MAX_VIEWS)
        views = select_slice_views(self.slice_, reading=reading, keep_funcs=())
        ordered = sorted(views, key=lambda view: (sample_key(view.view_id), view.view_id, view.group_id))
        yield from self._read_at_once(ordered)
        self.population = len(views)

    def read_all(self, reading: Reading) -> Iterator[WindowedView]:
        """Yields all views of the slice, page by page. Reports traces to the reading.

        Raises `SliceTooLarge` if they run more functions than the reading allows.
        """
        for page in iter_slice_views(self.slice_, reading):
            for start in range(0, len(page), LOOKED_UP):
                views = page[start : start + LOOKED_UP]
                stored = self._select_readable(views)
                for seen in self._read(stored, reading.batch_traces):
                    reading.check_funcs(len(self.funcs.keys))
                    yield seen
                reading.on_traces(sum(view.traces for view in views))
        self.population = self.read + self.gone + self.too_large

    def _read_at_once(self, views: Sequence[SliceView]) -> Iterator[WindowedView]:
        """Yields the first of some views: a part of the uniform order is a uniform sample too."""
        began_s = time.thread_time()
        readable = self._select_readable(views)
        gone, last = self.gone, None
        for last in self._read(_choose_first(readable), settings.JOB_BATCH_TRACES):
            yield last
            is_over = time.thread_time() - began_s > settings.VITALS_READ_S
            if is_over or len(self.funcs.keys) > settings.VITALS_MAX_FUNCS:
                break
        if last is not None and readable[-1].view is not last.view:
            (stored,) = (candidate for candidate in readable if candidate.view is last.view)
            self.gone, self.too_large = stored.gone + self.gone - gone, stored.too_large

    def _select_readable(self, views: Sequence[SliceView]) -> list[_StoredView]:
        """Returns the views whose bodies are all kept and not too large, in their order. One statement.

        A view's row has its number of traces, so those of a view with a million are not even looked up.
        """
        few = {id(view) for view in views if view.traces <= settings.VITALS_VIEW_MAX_TRACES}
        traces = self._select_stored([view for view in views if id(view) in few])
        readable = []
        for view in views:
            view_traces = traces.get((view.view_id, view.group_id), [])
            stored = _StoredView(view, view_traces, self.gone, self.too_large)
            if id(view) not in few:
                self.too_large += 1
            elif not view_traces or not all(trace.has_body for trace in view_traces):
                self.gone += 1
            elif stored.size > settings.VITALS_VIEW_MAX_BYTES:
                self.too_large += 1
            else:
                readable.append(stored)
        return readable

    def _read(self, views: Sequence[_StoredView], batch_traces: int) -> Iterator[WindowedView]:
        """Yields views in their order. It holds the packed bodies of a batch, and one view expanded."""
        by_key = {(stored_view.view.view_id, stored_view.view.group_id): stored_view for stored_view in views}
        waiting: dict[ViewKey, list[StoredBody]] = {}
        for batch in split_traces([trace for stored_view in views for trace in stored_view.traces], batch_traces):
            bodies = load_raw_bodies(
                self.slice_.project_id, [(trace.view_id, trace.seq, trace.received_at) for trace in batch]
            )
            for trace in batch:
                key = trace.view_id, trace.group_id
                if (body := bodies.get((trace.view_id, trace.seq))) is not None:
                    waiting.setdefault(key, []).append(body)
            last = batch[-1].view_id, batch[-1].group_id  # only this view may go on in the next batch
            for key in [key for key in waiting if key != last]:
                yield from self._window(by_key[key], waiting.pop(key))
        for key, rest in waiting.items():
            yield from self._window(by_key[key], rest)

    def _window(self, stored: _StoredView, bodies: Sequence[StoredBody]) -> Iterator[WindowedView]:
        if len(bodies) < len(stored.traces):  # some expired meanwhile
            self.gone += 1
            return
        self.read += 1
        view = stored.view
        is_only_slow = view.codes[CAPTURE_AT] == ONLY_SLOW  # its other windows and its forced layout are not known
        self.only_slow_views += is_only_slow
        read = self._reader.read(
            bodies,
            page=view.page,
            choose=lambda windows: self._choose(windows, is_only_slow=is_only_slow),
            with_scripts=not is_only_slow and not self.only_interactions,
        )
        if self.only_interactions and len(self.funcs.keys) > settings.VITALS_MAX_FUNCS:
            self._open_table()
        yield WindowedView(view=view, read=read)

    def _choose(self, windows: ViewWindows, *, is_only_slow: bool) -> ViewWindows:
        if self.only_interactions:
            windows = windows.only(["interaction"])
        if self.only_slow:
            windows = windows.only_slow()
        return windows.only_known_slow() if is_only_slow else windows

    def _open_table(self) -> None:
        """Begins a table of funcs, and the reading into it."""
        self.funcs = FuncTable()
        module = find_kernel(settings.KERNEL).module
        max_bytes = settings.INGEST_MAX_EXPANDED_BYTES
        self._reader = open_reader(module, self.funcs, envelope_limits(), max_bytes=max_bytes)

    def _select_stored(self, views: Sequence[SliceView]) -> dict[ViewKey, list[_KeptTrace]]:
        """Returns the traces of each view. One statement."""
        traces_of_view: dict[ViewKey, list[_KeptTrace]] = {(view.view_id, view.group_id): [] for view in views}
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
            traces_of_view[row.view_id, row.group_id].append(row)
        return traces_of_view


def _choose_first(readable: Sequence[_StoredView]) -> list[_StoredView]:
    """Returns the first of some views, as many as the limits of an answer allow; at least one, if there is one."""
    chosen: list[_StoredView] = []
    read_traces = read_bytes = 0
    for stored in readable:
        read_traces += len(stored.traces)
        read_bytes += stored.size
        if chosen and (read_traces > settings.VITALS_MAX_TRACES or read_bytes > settings.VITALS_MAX_BYTES):
            break
        chosen.append(stored)
    return chosen
