"""The exact sums of a fine slice by func: from its views' contributions, or from raw traces if it names traces."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.conf import settings

from aggregate.selectors.code.refs import FuncRef
from aggregate.selectors.page_views.contributions import (
    SliceFuncSums,
    SliceView,
    count_cell_traces,
    count_traces,
    iter_slice_views,
    select_slice_views,
    sum_contributions,
    sum_times,
)
from aggregate.selectors.page_views.raw_traces import RawFolder, check_kept, count_raw, fold_raw
from aggregate.selectors.page_views.samples import ViewSampler
from aggregate.selectors.page_views.view_rows import ViewKey
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice
from profcore.stats.views import ViewSample
from profcore.sums.blobs import Contribution
from profcore.sums.fold import ViewFold, contribution_of
from profcore.trace.weights import TimeParts

VIEWS_PER_SUM = 200  # folded views that are summed up together: a few MB


@dataclass(slots=True, kw_only=True)
class FineSums:
    """A fine slice's sums, by release and stored id for funcs. `sample` has some of its views, or all."""

    source: str
    views: int = 0
    truncated_views: int = 0
    traces: int = 0
    time: TimeParts = field(default_factory=TimeParts)
    funcs: dict[str, dict[int, SliceFuncSums]] = field(default_factory=dict)
    sample: ViewSample | None = None

    def add_funcs(self, views: Iterable[tuple[str, Contribution]]) -> None:
        """Adds the contributions of more views, each with its release."""
        of_release: dict[str, list[Contribution]] = {}
        for release, contribution in views:
            of_release.setdefault(release, []).append(contribution)
        for release, contributions in of_release.items():
            _add_sums(self.funcs.setdefault(release, {}), sum_contributions(contributions))

    def all_funcs(self) -> dict[int, SliceFuncSums]:
        """Returns the sums over all releases."""
        if len(self.funcs) == 1:
            return next(iter(self.funcs.values()))
        sums: dict[int, SliceFuncSums] = {}
        for more in self.funcs.values():
            _add_sums(sums, more)
        return sums


def _add_sums(sums: dict[int, SliceFuncSums], more: Mapping[int, SliceFuncSums]) -> None:
    for func_id, func_sums in more.items():
        known = sums.get(func_id)
        if known is None:
            sums[func_id] = func_sums
        else:
            sums[func_id] = known.plus(func_sums)


def is_raw(slice_: Slice) -> bool:
    """Returns whether contributions are too coarse for a slice, because it names traces or tags of traces."""
    return bool(slice_.traces or slice_.tags)


def sum_fine(slice_: Slice, reading: Reading) -> FineSums:
    """Returns the sums of a fine slice. Raises `SliceError`."""
    return _sum_raw(slice_, reading) if is_raw(slice_) else _sum_contributions(slice_, reading)


def _sum_contributions(slice_: Slice, reading: Reading) -> FineSums:
    fine = FineSums(source="contributions")
    sampler = ViewSampler(settings.TABLE_STATISTICS_MAX_VIEWS, most_funcs=settings.FINE_SAMPLE_MAX_FUNCS)
    for views in iter_slice_views(slice_, reading):
        for view in views:
            sampler.add(view, view.time, view.contribution)
        traces = sum(view.traces for view in views)
        fine.views += len(views)
        fine.truncated_views += sum(view.is_truncated for view in views)
        fine.traces += traces
        fine.time.add(sum_times(views))
        fine.add_funcs((view.release, view.contribution) for view in views)
        reading.on_traces(traces)
    fine.sample = sampler.sample()
    return fine


def _sum_raw(slice_: Slice, reading: Reading) -> FineSums:
    fine = FineSums(source="raw")
    sampler = ViewSampler(settings.TABLE_STATISTICS_MAX_VIEWS, most_funcs=settings.FINE_SAMPLE_MAX_FUNCS)
    folder = RawFolder(slice_, reading, with_tree=False)
    waiting: list[tuple[str, Contribution]] = []
    for views in iter_slice_views(slice_, reading):
        for view, fold in folder.fold(views):
            fine.views += 1
            fine.truncated_views += view.is_truncated
            fine.time.add(fold.parts)
            waiting.append((view.release, _by_index(folder, fold)))
            sampler.add(view, fold.parts, waiting[-1][1])
            if len(waiting) >= VIEWS_PER_SUM:
                fine.add_funcs(waiting)
                waiting.clear()
    fine.add_funcs(waiting)
    fine.traces = folder.traces
    id_of = folder.select_ids()
    fine.funcs = {
        release: {id_of[index]: func_sums for index, func_sums in sums.items()} for release, sums in fine.funcs.items()
    }
    fine.sample = sampler.sample(id_of)
    return fine


def _by_index(folder: RawFolder, view: ViewFold) -> Contribution:
    """Returns a view's contribution over the folder's func indexes; ids are loaded once, at the end."""
    return contribution_of(view.sums, range(len(folder.funcs.keys)))


def count_read_traces(slice_: Slice, *, with_tree: bool) -> int:
    """Returns how many traces one pass over a slice looks at, for a slice of cells those of the cells.

    `with_tree` says that a call tree is wanted, which contributions do not have. Raises `SliceError` if raw bodies have
    expired, so that no job waits in vain. With `func_over` only the reading itself can know that.
    """
    if not slice_.is_fine:
        return count_cell_traces(slice_)
    if not with_tree and not is_raw(slice_):
        return count_traces(slice_)
    traces, gone = count_raw(slice_)
    if not slice_.func_over:
        check_kept(traces, gone)
    return traces


@dataclass(frozen=True, slots=True)
class SeenViews:
    """The views of a slice, each reduced to its part in the slice. `source` is `contributions` or `raw`.

    If the slice names traces or tags, a view has only the times and contribution of its traces among them. Views
    without such traces are left out, and `seqs` has the numbers of these traces; else it is None.
    """

    source: str
    views: Sequence[SliceView]
    seqs: Mapping[ViewKey, Collection[int]] | None = None


def select_seen_views(
    slice_: Slice, *, ref: FuncRef | None = None, keep_funcs: Collection[int] | None = None
) -> SeenViews:
    """Returns the views of a slice. `ref` and `keep_funcs` are as in `select_slice_views`. Raises `SliceError`."""
    views = select_slice_views(slice_, ref=ref, keep_funcs=keep_funcs)
    if not is_raw(slice_):
        return SeenViews("contributions", views)
    raw = fold_raw(slice_, views)
    seen = [
        replace(view, time=raw.times[key], contribution=raw.contributions[key], traces=len(raw.seqs[key]))
        for view in views
        for key in [(view.view_id, view.group_id)]
        if key in raw.times
    ]
    return SeenViews("raw", seen, raw.seqs)
