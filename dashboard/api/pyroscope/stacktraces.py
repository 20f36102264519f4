"""`SelectMergeStacktraces` and `SelectMergeProfile`: the call tree of a slice, as a flame graph or for pprof."""

from typing import Any, Final

from google.protobuf.message import Message

from aggregate.selectors.exports.slice_export import select_slice_export
from dashboard.api.pyroscope.connect import PROTO, ConnectView, Unimplemented
from dashboard.api.pyroscope.labels import resolve_question
from dashboard.api.pyroscope.messages import make_message
from dashboard.api.slices.queries import MAX_NODES
from dashboard.web.params import ParamError
from dashboard.web.project_pages import PageTraits
from profcore.formats.chart.model import Chart
from profcore.formats.pprof.writer import write_messages
from profcore.formats.pyroscope.flamebearer import Flamebearer, write_flamebearer

FLAME_NODES: Final = 8_192  # without a wish; as in Pyroscope
FLAME_GRAPH: Final = (0, 1)  # numbers of `ProfileFormat`: unspecified, flame graph
PPROF: Final = 4
# What Pyroscope can narrow a profile by, and sums of page views cannot.
FINER: Final = ("profile_id_selector", "trace_id_selector", "span_selector")


class MergeProfileView(ConnectView):
    """The profile of a slice as pprof's message, which has files and lines."""

    traits = PageTraits(heavy="yes", on_replica=True)
    message = "SelectMergeProfileRequest"

    def answer(self, question: Any) -> Message | bytes:  # Any: messages have no stubs
        return self.write_pprof(self.draw(question))

    def write_pprof(self, chart: Chart | None) -> bytes:
        """Returns a profile as pprof's message, which is declared nowhere: it has no JSON."""
        if self.is_json:
            raise Unimplemented(f"A pprof profile is only answered as {PROTO}.")
        return b"" if chart is None else b"".join(write_messages(chart))

    def draw(self, question: Any) -> Chart | None:  # Any: as above
        """Returns the chart of what was asked for, None if it has no time."""
        names = [field.name for field, _ in question.ListFields()]
        stacks = question.stack_trace_selector
        if any(name in FINER for name in names) or stacks.call_site or stacks.HasField("go_pgo"):
            raise Unimplemented("Fieldflame has no profiles of single spans, traces or call sites.")
        max_nodes = question.max_nodes or FLAME_NODES
        if not 1 <= max_nodes <= MAX_NODES:
            raise ParamError("max_nodes", f"max_nodes must be from 1 to {MAX_NODES}.")
        type_, slice_ = resolve_question(self.project, question)
        if slice_ is None:
            return None
        export = select_slice_export(slice_, project=self.project.name, is_pruned=False)
        chart = type_.draw(export, max_nodes=max_nodes)
        return chart if any(chart.tracks[0].us) else None


class MergeStacktracesView(MergeProfileView):
    """The flame graph of a slice: that of our own page, by this type of time. As pprof, if the client wants that."""

    message = "SelectMergeStacktracesRequest"

    def answer(self, question: Any) -> Message:  # Any: as above
        if question.format not in (*FLAME_GRAPH, PPROF):
            raise Unimplemented("Fieldflame answers flame graphs and pprof, no other format.")
        if question.HasField("async") and getattr(question, "async").type:
            raise Unimplemented("Fieldflame answers at once, and has no queries to come back for.")
        chart = self.draw(question)
        if question.format == PPROF:
            profile = make_message("PprofProfile", profile=self.write_pprof(chart))
            return make_message("SelectMergeStacktracesResponse", pprof=profile)
        if chart is None:
            return make_message("SelectMergeStacktracesResponse")
        return make_message("SelectMergeStacktracesResponse", flamegraph=_write_flames(write_flamebearer(chart)))


def _write_flames(flames: Flamebearer) -> Message:
    levels = [make_message("Level", values=values) for values in flames.levels]
    return make_message("FlameGraph", names=flames.names, levels=levels, total=flames.total, max_self=flames.max_self)
