"""The types of profiles: which parts of a view's time are added up, in ns."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from profcore.formats.chart.model import Chart
from profcore.formats.chart.slices import chart_of_slices, name_track
from profcore.formats.pruning import prune_export
from profcore.formats.slice import SliceExport
from profcore.trace.weights import TimeParts

NAME: Final = "browser"
UNIT: Final = "nanoseconds"  # the only unit of time that Grafana's flame graph knows
PERIOD_TYPE: Final = "wall"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileType:
    """One type, by the parts of time that it has."""

    sample_type: str
    has_script: bool = False
    has_hidden: bool = False
    has_engine: bool = False

    @property
    def id(self) -> str:
        """Its name as clients ask for it."""
        return ":".join((NAME, self.sample_type, UNIT, PERIOD_TYPE, UNIT))

    def add_up(self, script: int, hidden: int, engine: int) -> int:
        """Returns the sum of the parts that it has."""
        return script * self.has_script + hidden * self.has_hidden + engine * self.has_engine

    def draw(self, export: SliceExport, *, max_nodes: int) -> Chart:
        """Returns the chart of a slice with only this time, and at most `max_nodes` call nodes of funcs.

        Hidden time that is not attributed to a function is one root, `(hidden)`. Engine time has no stack.
        """
        tree, time = export.tree, export.time
        self_us = [self.add_up(script, hidden, 0) for script, hidden in zip(tree.self_us, tree.hidden_us, strict=True)]
        samples = tree.self_samples if self.has_script else [0] * len(tree)
        apart = TimeParts(
            hidden_us=max(time.hidden_us - sum(tree.hidden_us), 0) if self.has_hidden else 0,
            engine_us=time.engine_us if self.has_engine else 0,
        )
        measured = replace(export, tree=replace(tree, self_us=self_us, self_samples=samples), time=apart)
        pruned = prune_export(measured, max_nodes)
        return chart_of_slices([(name_track(export), pruned)], replace(export, pruned=pruned.pruned))


# Grafana offers the first one first.
PROFILE_TYPES: Final[Sequence[ProfileType]] = (
    ProfileType(sample_type="script_and_hidden", has_script=True, has_hidden=True),
    ProfileType(sample_type="script", has_script=True),
    ProfileType(sample_type="hidden", has_hidden=True),
    ProfileType(sample_type="engine", has_engine=True),
)
TYPE_OF_ID: Final = {profile_type.id: profile_type for profile_type in PROFILE_TYPES}
