"""Charts of slices: one track for each, an icicle of its call paths, with shared funcs and call nodes."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from profcore.code.categories import FUNC_CATEGORIES
from profcore.formats.chart.model import ENGINE_FUNC, HIDDEN_FUNC, IDLE, Chart, ChartFunc, ChartPlace, Metadata, Track
from profcore.formats.firefox.tables import safe_text
from profcore.formats.ordering import order_nodes
from profcore.formats.slice import ExportFunc, SliceExport
from profcore.sums.calltree import CallTree, CallTreeBuilder, total_us
from profcore.trace.weights import TimeParts

ANONYMOUS: Final = "(anonymous)"
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class FuncRows:
    """The distinct funcs of some exports, `(hidden)` and `(engine)` first."""

    __slots__ = ("_index",)
    hidden: Final = 0
    engine: Final = 1

    def __init__(self) -> None:
        self._index: dict[ChartFunc, int] = {HIDDEN_FUNC: self.hidden, ENGINE_FUNC: self.engine}

    def add(self, funcs: Sequence[ExportFunc]) -> list[int]:
        """Adds an export's funcs and returns the row of each."""
        index = self._index
        return [index.setdefault(_row(func), len(index)) for func in funcs]

    def add_pseudo(self, func: ChartFunc) -> int:
        """Adds one of our own funcs and returns its row."""
        return self._index.setdefault(func, len(self._index))

    @property
    def funcs(self) -> list[ChartFunc]:
        """All funcs, by row."""
        return list(self._index)


class NodeOrder:
    """The call nodes of a tree over rows, depth first and heaviest first, without those that have no samples.

    `funcs` are the funcs of these nodes in order of their first node, so that the input's order does not matter.
    `place` has the place of each node of the tree, or -1.
    """

    __slots__ = ("func", "funcs", "place", "prefix")

    def __init__(self, tree: CallTree, funcs: Sequence[ChartFunc]) -> None:
        by_name = sorted(range(len(funcs)), key=lambda row: _sort_key(funcs[row]))
        rank = {row: place for place, row in enumerate(by_name)}
        # Time decides, then samples. So a path whose samples have no weight is kept and comes last.
        weights = [total_us(tree), total_us(CallTree(tree.prefix, tree.func, tree.self_samples))]
        is_shown = [us > 0 or count > 0 for us, count in zip(*weights, strict=True)]
        nodes = order_nodes(tree, weights, is_shown, [rank[row] for row in range(len(funcs))])
        self.place = [-1] * len(tree)
        for place, node in enumerate(nodes):
            self.place[node] = place
        self.prefix = [self.place[prefix] if (prefix := tree.prefix[node]) >= 0 else -1 for node in nodes]
        index: dict[int, int] = {}
        self.func = [index.setdefault(tree.func[node], len(index)) for node in nodes]
        self.funcs = [funcs[row] for row in index]


def chart_of_slice(export: SliceExport) -> Chart:
    """Returns the chart of a slice: one track of its call paths with samples, hidden and engine time, and idle last.

    Unobserved time and the profiler's own time are only in `metadata`.
    """
    return chart_of_slices([(name_track(export), export)], export)


def chart_of_slices(named: Sequence[tuple[str, SliceExport]], whole: SliceExport) -> Chart:
    """Returns the chart of some slices, one track for each, by name. Title, time and metadata are those of `whole`."""
    rows, builder = FuncRows(), CallTreeBuilder()
    sums = [_add_slice(export, rows, builder) for _, export in named]
    order = NodeOrder(builder.tree, rows.funcs)
    tracks = []
    for (name, export), nodes in zip(named, sums, strict=True):
        track = Track(name=safe_text(name))
        for place, node in sorted((order.place[node], node) for node in nodes):
            if place >= 0:
                track.add(place, *nodes[node])
        track.add(IDLE, export.time.idle_us, export.time.idle_samples)
        tracks.append(track)
    return Chart(
        title=title_of(whole.project, whole.releases, whole.pages),
        funcs=order.funcs,
        prefix=order.prefix,
        func=order.func,
        tracks=tracks,
        time=whole.time,
        interval_us=max(round(whole.interval_ms * 1000), 1),
        started_at_ms=whole.started_at_ms,
        metadata=metadata_of_slice(whole),
    )


def _add_slice(export: SliceExport, rows: FuncRows, builder: CallTreeBuilder) -> dict[int, tuple[int, int]]:
    """Adds a slice's call paths to the common tree and returns the slice's µs and samples by node of that tree."""
    row_of = rows.add(export.funcs)
    tree, time = export.tree, export.time
    nodes: list[int] = []
    sums: dict[int, tuple[int, int]] = {}

    def add(node: int, us: int, samples: int) -> None:
        known_us, known_samples = sums.get(node, (0, 0))
        sums[node] = known_us + us, known_samples + samples
        builder.tree.self_us[node] += us
        builder.tree.self_samples[node] += samples

    for index, prefix in enumerate(tree.prefix):
        node = builder.node(nodes[prefix] if prefix >= 0 else -1, row_of[tree.func[index]])
        nodes.append(node)
        if tree.self_us[index] or tree.self_samples[index]:
            add(node, tree.self_us[index], tree.self_samples[index])
    for func, us, samples in (
        (rows.hidden, time.hidden_us, time.hidden_samples),
        (rows.engine, time.engine_us, time.engine_samples),
    ):
        if us or samples:
            add(builder.node(-1, func), us, samples)
    return sums


def name_track(export: SliceExport) -> str:
    """Returns the only page of a slice, the number of its pages, or the project's name if no page is known."""
    pages = export.pages
    return pages[0] if len(pages) == 1 else f"{len(pages)} pages" if pages else export.project


def title_of(project: str, releases: Sequence[str], pages: Sequence[str]) -> str:
    """Returns a title: the project, and its release and page if there is only one."""
    names = [project, *(values[0] for values in (releases, pages) if len(values) == 1)]
    return " ".join(safe_texts(names))


def metadata_of_slice(export: SliceExport) -> Metadata:
    """Returns the metadata of a slice in addition to its call paths."""
    metadata: Metadata = {
        "project": safe_text(export.project),
        "query": safe_text(export.query),
        "releases": safe_texts(export.releases),
        "pages": safe_texts(export.pages),
        "from": iso(export.started_at_ms),
        "to": iso(export.ended_at_ms),
        **{name: safe_texts(values) for name, values in export.dimensions.items()},
        "views": export.views,
        "traces": export.traces,
        "samples": export.samples,
        "interval_ms": export.interval_ms,
        **time_metadata(export.time),
    }
    if export.pruned is not None:
        metadata["pruned_call_nodes"] = export.pruned.call_nodes
        metadata["pruned_ms"] = export.pruned.self_us / 1000
    if export.link is not None:
        metadata["link"] = safe_text(export.link)
    return metadata


def time_metadata(time: TimeParts) -> Metadata:
    """Returns the parts of time in ms; they add up to the span."""
    parts = ("js", "hidden", "engine", "idle", "unobserved", "profiler", "span")
    return {f"{part}_ms": getattr(time, f"{part}_us") / 1000 for part in parts}


def safe_texts(texts: Sequence[str]) -> list[str]:
    """Returns texts in which characters that cannot be written are replaced."""
    return [safe_text(text) for text in texts]


def iso(epoch_ms: float) -> str:
    """Returns a time as ISO 8601, to the minute."""
    return (EPOCH + timedelta(milliseconds=epoch_ms)).isoformat(timespec="minutes")


def _row(func: ExportFunc) -> ChartFunc:
    script = None if func.uri is None else _place(func.uri, func.line, func.column)
    original = func.original
    mapped = None if original is None else _place(original.source, original.line, original.column)
    # A category that no rule gives is our own: that of the func that replaces pruned ones.
    is_page = func.category is None or func.category in FUNC_CATEGORIES
    return ChartFunc(safe_text(func.label) or ANONYMOUS, script, mapped, is_page, func.is_made)


def _place(uri: str, line: int | None, column: int | None) -> ChartPlace:
    # Positions are 1-based; a 0, which the wire allows, means unknown.
    return ChartPlace(safe_text(uri), line or None, column or None)


def _sort_key(func: ChartFunc) -> tuple[object, ...]:
    places = [
        (place is not None, *((place.uri, place.line or 0, place.column or 0) if place else ("", 0, 0)))
        for place in (func.script, func.original)
    ]
    return func.label, func.is_page, func.is_made, *places
