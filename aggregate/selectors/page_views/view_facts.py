"""Single page views with all their kept data: parts of time, traces, and facts from raw bodies while these are kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from aggregate.raw_bodies import load_raw_bodies
from aggregate.selectors.page_views.contributions import SliceView, select_slice_views
from aggregate.selectors.page_views.traces import TraceRow, select_traces_of
from aggregate.selectors.page_views.view_lists import ViewPage
from aggregate.selectors.page_views.view_rows import ViewKey
from aggregate.selectors.slice.slices import Slice
from ingest.models import FOLDED
from profcore.trace.trace_details import TraceDetails, Vitals, join_vitals, read_details

# Expanded bytes of the raw traces in which a page looks for vitals, tags and browsers of its views: 40 ms.
FACTS_MAX_BYTES: Final = 16 * 2**20


@dataclass(frozen=True, slots=True)
class ListedView:
    """A view of a list. `took_us` is its time by the list's measure. `vitals` is None if raw bodies have expired."""

    view: SliceView
    took_us: int
    traces: Sequence[TraceRow]
    vitals: Vitals | None

    @property
    def started_at(self) -> datetime:
        """The start of the view, or of its bucket if its receipts are gone."""
        return min((trace.view_started_at for trace in self.traces), default=self.view.starts_at)

    @property
    def lcp_us(self) -> int | None:
        """The time when its largest element was painted, None without such a mark."""
        return self.vitals.lcp_us if self.vitals else None

    @property
    def inp_us(self) -> int | None:
        """The duration of its slowest interaction, None without such a mark."""
        return self.vitals.inp_us if self.vitals else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewDetails:
    """All kept data of one view on one page in one release.

    `view`, its sums, is None if nothing of it is folded or if its row has expired. `facts` are those of the traces
    whose raw bodies are kept, by number. `others` are the other (release, page) of the same view.
    """

    view_id: UUID
    release: str
    page: str
    view: SliceView | None
    traces: Sequence[TraceRow]
    facts: Mapping[int, TraceDetails]
    others: Sequence[tuple[str, str]]

    @property
    def started_at(self) -> datetime:
        """The start of the view."""
        return min(trace.view_started_at for trace in self.traces)

    @property
    def vitals(self) -> Vitals:
        """Its vitals, as far as marks give them."""
        return join_vitals([facts.vitals for facts in self.facts.values()])

    @property
    def marks_dropped(self) -> int:
        """The number of its marks that the page left out, because they were too many."""
        return max((facts.marks_dropped for facts in self.facts.values()), default=0)

    @property
    def request_traces(self) -> Sequence[str]:
        """The ids of its traces in a tracing system: mostly one, or none."""
        return list(dict.fromkeys(trace.request_trace for trace in self.traces if trace.request_trace))

    @property
    def folded(self) -> Sequence[TraceRow]:
        """The traces that are in its sums."""
        return [trace for trace in self.traces if trace.state == FOLDED]

    @property
    def gone(self) -> Sequence[TraceRow]:
        """The folded traces whose raw bodies have expired."""
        return [trace for trace in self.folded if trace.trace_id is None]

    @property
    def missing(self) -> Sequence[int]:
        """The numbers below the last one that never arrived."""
        seqs = {trace.seq for trace in self.traces}
        return [seq for seq in range(min(max(seqs), MAX_MISSING)) if seq not in seqs]


MAX_MISSING = 1_000  # clients choose the numbers: one may be two thousand million


def select_listed(project_id: int, page: ViewPage) -> Sequence[ListedView]:
    """Returns the views of a page of a list, in its order. Three statements at most."""
    keys = [key for key, _ in page.keys]
    views = page.seen if page.seen is not None else _select_views(project_id, [key[0] for key in keys])
    traces_of = select_traces_of(project_id, [key[0] for key in keys])
    traces = {key: traces_of.get((key[0], view.release, view.page), []) for key, view in views.items()}
    facts_of_trace = load_facts(project_id, [trace for key in keys for trace in traces.get(key, ())])
    return [
        ListedView(
            views[key],
            took_us,
            traces[key],
            join_vitals([trace_facts.vitals for trace_facts in known]) if known else None,
        )
        for key, took_us in page.keys
        if key in views
        for known in [
            [facts_of_trace[key[0], trace.seq] for trace in traces[key] if (key[0], trace.seq) in facts_of_trace]
        ]
    ]


def select_view(project_id: int, view_id: UUID, *, release: str | None, page: str | None) -> ViewDetails | None:
    """Returns a view, None if the project has no view of that id. Three statements.

    A view with several pages or releases exists once for each: `release` and `page` choose one, else it is the first.
    """
    by_group = select_traces_of(project_id, [view_id])
    groups = order_groups(by_group)
    if not groups:
        return None
    chosen = choose_group(groups, release=release, page=page)
    views = _select_views(project_id, [view_id])
    view = next(
        (slice_view for slice_view in views.values() if (slice_view.release, slice_view.page) == chosen[1:]), None
    )
    traces = by_group[chosen]
    facts_of_trace = load_facts(project_id, traces)
    _, chosen_release, chosen_page = chosen
    return ViewDetails(
        view_id=view_id,
        release=chosen_release,
        page=chosen_page,
        view=view,
        traces=traces,
        facts={
            trace.seq: facts_of_trace[view_id, trace.seq] for trace in traces if (view_id, trace.seq) in facts_of_trace
        },
        others=[group[1:] for group in groups if group != chosen],
    )


Group = tuple[UUID, str, str]  # a view with its release and page


def order_groups(by_group: Mapping[Group, Sequence[TraceRow]]) -> Sequence[Group]:
    """Returns the releases and pages of a view, in the order in which they began."""
    return sorted(by_group, key=lambda group: (min(t.view_started_at for t in by_group[group]), group))


def choose_group(groups: Sequence[Group], *, release: str | None, page: str | None) -> Group:
    """Returns the first group with a release and page, or the first of all if there is none."""
    wanted = (group for group in groups if release in (None, group[1]) and page in (None, group[2]))
    return next(wanted, groups[0])


def _select_views(project_id: int, view_ids: Sequence[UUID]) -> dict[ViewKey, SliceView]:
    if not view_ids:
        return {}
    slice_views = select_slice_views(Slice(project_id=project_id, views=tuple(view_ids)), keep_funcs=())
    return {(view.view_id, view.group_id): view for view in slice_views}


def load_facts(project_id: int, traces: Sequence[TraceRow]) -> dict[tuple[UUID, int], TraceDetails]:
    """Returns facts from kept raw bodies, by view and number, up to `FACTS_MAX_BYTES` in all. One statement."""
    wanted: list[TraceRow] = []
    size = 0
    for trace in traces:
        if trace.trace_id is not None and size + trace.body_bytes <= FACTS_MAX_BYTES:
            wanted.append(trace)
            size += trace.body_bytes
    if not wanted:
        return {}
    bodies = load_raw_bodies(project_id, [(trace.view_id, trace.seq, trace.received_at) for trace in wanted])
    return {key: read_details(stored.expand()) for key, stored in bodies.items()}
