"""Charts of page views: one track for each, on the view's own clock (µs since its start).

If a view's traces overlap, since two profilers ran at the same time, those without room get further tracks.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from profcore.formats.chart.model import BLANK, ENGINE_FUNCS, IDLE, Chart, ChartMark, Metadata, Track
from profcore.formats.chart.slices import FuncRows, NodeOrder, iso, safe_texts, time_metadata, title_of
from profcore.formats.firefox.tables import safe_text
from profcore.formats.slice import TimelineExport
from profcore.formats.timeline import ViewTimeline
from profcore.sums.calltree import CallTreeBuilder
from profcore.trace.dimensions import EXPORTED_DIMENSIONS
from profcore.trace.marks import TimelineMark, describe_script
from profcore.trace.weights import KIND_ENGINE, KIND_HIDDEN, KIND_IDLE, KIND_JS, MARKERS, TimeParts

ID_CHARS: Final = 8  # of a view's id, which is enough to distinguish a few views


def chart_of_views(export: TimelineExport) -> Chart:
    """Returns the chart of some views. Unobserved time and the profiler's own time are blank on the axis.

    A sample's run begins at its time, or at the end of the previous run if that is later: the last sample of a trace
    counts one interval, and another trace may begin within it.
    """
    rows, builder = FuncRows(), CallTreeBuilder()
    row_of = rows.add(export.funcs)
    leaves = {marker: rows.add_pseudo(func) for marker, func in ENGINE_FUNCS.items()} if export.engine_leaves else {}
    tracks = []
    for view in export.views:
        nodes = _add_samples(view, row_of, rows, leaves, builder)
        tracks += [_draw_lane(view, lane, nodes) for lane in range(view.lanes)]
    for track in tracks:
        for node, us, samples in zip(track.node, track.us, track.samples, strict=True):
            if node >= 0:
                builder.tree.self_us[node] += us
                builder.tree.self_samples[node] += samples
    order = NodeOrder(builder.tree, rows.funcs)
    for track in tracks:
        track.node = [order.place[node] if node >= 0 else node for node in track.node]
    views, time = export.views, TimeParts()
    for view in views:
        time.add(view.time)
    return Chart(
        title=title_of(export.project, _distinct(v.release for v in views), _distinct(v.page for v in views)),
        funcs=order.funcs,
        prefix=order.prefix,
        func=order.func,
        tracks=tracks,
        time=time,
        interval_us=views[0].interval_us if views else 1,
        started_at_ms=min((view.started_at_ms for view in views), default=0),
        metadata=_metadata(export, time),
        is_clock=True,
        tracks_by="view",
    )


def _add_samples(
    view: ViewTimeline, row_of: Sequence[int], rows: FuncRows, leaves: Mapping[str, int], builder: CallTreeBuilder
) -> list[int]:
    """Returns the node of each sample in the tree of all views, or `IDLE` or `BLANK`.

    If leaves are wanted for the engine's work, each is below the func that was on top of the stack.
    """
    node_of: list[int] = []
    for prefix, func in zip(view.prefix, view.func, strict=True):
        node_of.append(builder.node(node_of[prefix] if prefix >= 0 else -1, row_of[func]))
    nodes = []
    samples = view.samples
    for kind, stack, marker in zip(samples.kind, samples.stack, samples.marker, strict=True):
        if kind == KIND_JS:
            leaf = leaves.get(MARKERS[marker]) if marker >= 0 else None
            nodes.append(node_of[stack] if leaf is None else builder.node(node_of[stack], leaf))
        elif kind == KIND_HIDDEN:
            nodes.append(builder.node(-1, rows.hidden))
        elif kind == KIND_ENGINE:
            nodes.append(builder.node(-1, rows.engine))
        else:
            nodes.append(IDLE if kind == KIND_IDLE else BLANK)
    return nodes


def _draw_lane(view: ViewTimeline, lane: int, nodes: Sequence[int]) -> Track:
    """Returns the track of a view's traces in one lane; `nodes` has the node of each sample."""
    samples = view.samples
    rows = [row for row, trace in enumerate(samples.trace) if view.traces[trace].lane == lane]
    name = f"{safe_text(view.page)} {view.view_id[:ID_CHARS]}" + (f" ({lane + 1})" if lane else "")
    now = samples.time_us[rows[0]] if rows else 0
    track = Track(name=name, start_us=now)
    for row in rows:
        if samples.time_us[row] > now:
            track.add(BLANK, samples.time_us[row] - now, 0)
            now = samples.time_us[row]
        track.add(nodes[row], samples.weight_us[row], 1)
        now += samples.weight_us[row]
    if lane == 0:
        track.marks = [_mark(mark) for mark in view.marks]
    return track


def _mark(mark: TimelineMark) -> ChartMark:
    name = " ".join(word for word in (mark.type, mark.name) if word)
    facts = {safe_text(key): safe_text(fact) if isinstance(fact, str) else fact for key, fact in mark.facts.items()}
    for number, script in enumerate(mark.scripts, 1):
        facts[f"script {number}"] = safe_text(describe_script(script))
    return ChartMark(safe_text(name), mark.start_us, mark.duration_us, facts)


def _metadata(export: TimelineExport, time: TimeParts) -> Metadata:
    views = export.views
    metadata: Metadata = {
        "project": safe_text(export.project),
        "query": safe_text(export.query),
        "view_ids": [view.view_id for view in views],
        "releases": _distinct(view.release for view in views),
        "pages": _distinct(view.page for view in views),
        "from": [iso(view.started_at_ms) for view in views],
        **{
            dimension.plural: _distinct(view.dimensions[dimension.name] for view in views)
            for dimension in EXPORTED_DIMENSIONS
        },
        "views": len(views),
        "traces": sum(len(view.traces) for view in views),
        "samples": time.samples,
        "interval_ms": views[0].interval_us / 1000 if views else 0.0,
        "ended": [f"{trace.seq}: {safe_text(trace.reason or trace.end_reason)}" for v in views for trace in v.traces],
        "overlap_ms": sum(view.overlap_us for view in views) / 1000,
        **time_metadata(time),
    }
    if export.link is not None:
        metadata["link"] = safe_text(export.link)
    return metadata


def _distinct(texts: Iterator[str]) -> list[str]:
    return safe_texts(list(dict.fromkeys(texts)))
