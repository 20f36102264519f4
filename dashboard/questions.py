"""The questions that an answer or a job replies to: parameters checked once, one way to the bytes.

The read API's views answer them at once, within the bounds of a request; jobs without these, page by page.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol, cast

from django.http import QueryDict
from rest_framework.renderers import JSONRenderer

from aggregate.jobruns import JobResult
from aggregate.selectors import (
    EXPORT_FIELDS,
    GROUPINGS,
    TABLE_SORTS,
    Asked,
    ExportQuery,
    ExportRequest,
    Slice,
    fingerprint_slice,
    resolve_export,
    select_arrivals,
    select_call_tree,
    select_estimated,
    select_export,
    select_tree_columns,
)
from aggregate.selectors.reading import Reading
from aggregate.selectors.sides import SIDE_FIELDS, has_sides, resolve_sides
from aggregate.selectors.slices import FINE_FIELDS, SLICE_FIELDS
from dashboard.columns import encode_tree_columns
from dashboard.drilldown_shapes import encode_call_tree
from dashboard.estimates import MEASURES
from dashboard.exports import name_export, name_file
from dashboard.params import ParamError, read_choice, read_count, read_export_query, read_narrowing, read_share
from dashboard.serializers import encode_functions
from dashboard.shapes import Json
from ingest.models import Project
from profcore.formats.registry import EXPORTERS, Exporter
from profcore.stats.views import Measure

# All functions of a heavy page are some thousands; the limit bounds an answer to a few MB.
MAX_FUNCTIONS: Final = 10_000
MAX_NODES: Final = 100_000
FLAME_NODES: Final = 20_000  # what a browser draws within a frame (docs/benchmarks.md)
ALL_FIELDS: Final = (*SLICE_FIELDS, *FINE_FIELDS)
GZIP_TYPE: Final = "application/gzip"


class Question(Protocol):
    """What is asked of a slice, beyond which slice."""

    @property
    def passes(self) -> tuple[bool, int]:
        """Whether a fine slice's raw traces are read whatever it names, and how often its traces are looked at."""
        ...

    def slices(self, slice_: Slice) -> Sequence[Slice]:
        """Returns the slices that are read to answer. Raises `SliceError` where question and slice contradict."""
        ...

    def check(self, slice_: Slice) -> None:
        """Raises `SliceError` where the question and the slice contradict each other."""
        ...

    def write(self, project: Project, slice_: Slice, link: str, reading: Reading) -> JobResult:
        """Returns the answer as a file, in pieces."""
        ...


@dataclass(frozen=True, slots=True)
class FunctionsQuestion:
    """`functions`: the slice's functions, or groups of them."""

    asked: Asked

    @classmethod
    def read(cls, params: QueryDict) -> "FunctionsQuestion":
        grouping = read_choice(params, "group_by", ("function", *GROUPINGS), "function")
        narrowing = read_narrowing(params)
        sort = read_choice(params, "sort", TABLE_SORTS, "self_ms")
        measure = cast("Measure", read_choice(params, "measure", MEASURES, "self"))  # one of its words
        if measure == "total" and grouping != "function":
            raise ParamError("measure", "measure=total is known of functions alone: views keep no totals of groups.")
        limit = read_count(params, "limit", default=MAX_FUNCTIONS, high=MAX_FUNCTIONS)
        return cls(Asked(grouping, sort, limit, narrowing.categories, measure, narrowing.search))

    @property
    def passes(self) -> tuple[bool, int]:
        return (False, 1) if self.asked.group_by == "function" else (True, 3)

    def answer(self, slice_: Slice, reading: Reading | None = None) -> Json:
        return encode_functions(slice_, select_estimated(slice_, self.asked, reading), select_arrivals(slice_))

    def slices(self, slice_: Slice) -> Sequence[Slice]:
        return [slice_]

    def check(self, slice_: Slice) -> None:
        """Any slice will do."""

    def write(self, project: Project, slice_: Slice, link: str, reading: Reading) -> JobResult:
        return write_json("functions", project, slice_, self.answer(slice_, reading))


@dataclass(frozen=True, slots=True)
class CallTreeQuestion:
    """`calltree`: the slice's merged call tree, pruned."""

    min_share: float
    max_nodes: int

    @classmethod
    def read(cls, params: QueryDict) -> "CallTreeQuestion":
        max_nodes = read_count(params, "max_nodes", default=10_000, high=MAX_NODES)
        return cls(read_share(params, "min_share"), max_nodes)

    @property
    def passes(self) -> tuple[bool, int]:
        return True, 1

    def answer(self, slice_: Slice, reading: Reading | None = None) -> Json:
        tree = select_call_tree(slice_, min_share=self.min_share, max_nodes=self.max_nodes, reading=reading)
        return encode_call_tree(slice_, tree)

    def slices(self, slice_: Slice) -> Sequence[Slice]:
        return [slice_]

    def check(self, slice_: Slice) -> None:
        """Any slice will do."""

    def write(self, project: Project, slice_: Slice, link: str, reading: Reading) -> JobResult:
        return write_json("calltree", project, slice_, self.answer(slice_, reading))


@dataclass(frozen=True, slots=True)
class FlameGraphQuestion:
    """`flamegraph`: the slice's call tree by columns, or that of two releases side by side."""

    min_share: float
    max_nodes: int
    how: ExportQuery

    @classmethod
    def read(cls, params: QueryDict) -> "FlameGraphQuestion":
        max_nodes = read_count(params, "max_nodes", default=FLAME_NODES, high=MAX_NODES)
        return cls(read_share(params, "min_share"), max_nodes, read_export_query(params))

    @property
    def passes(self) -> tuple[bool, int]:
        return True, 1

    def answer(self, slice_: Slice, reading: Reading | None = None) -> Json:
        columns = select_tree_columns(
            self.slices(slice_), min_share=self.min_share, max_nodes=self.max_nodes, reading=reading
        )
        return encode_tree_columns(slice_, columns)

    def slices(self, slice_: Slice) -> Sequence[Slice]:
        if not has_sides(self.how.base, self.how.head):
            return [slice_]
        return resolve_sides(slice_, self.how.base, self.how.head)

    def check(self, slice_: Slice) -> None:
        self.slices(slice_)

    def facts(self, slice_: Slice) -> tuple[object, ...]:
        """Returns what decides the answer: it changes with every trace folded into one of the slices."""
        sides = [(each.query(), fingerprint_slice(each)) for each in self.slices(slice_)]
        return self.min_share, self.max_nodes, sides

    def write(self, project: Project, slice_: Slice, link: str, reading: Reading) -> JobResult:
        return write_json("flamegraph", project, slice_, self.answer(slice_, reading))


@dataclass(frozen=True, slots=True)
class ProfileQuestion:
    """`profile`: the slice in a viewer's format, or its views, segments or difference."""

    exporter: Exporter
    as_gzip_file: bool
    how: ExportQuery

    @classmethod
    def read(cls, params: QueryDict) -> "ProfileQuestion":
        exporter = EXPORTERS[read_choice(params, "format", list(EXPORTERS), "")]
        as_gzip_file = read_choice(params, "compress", ("none", "gzip"), "none") == "gzip"
        return cls(exporter, as_gzip_file and not exporter.is_packed, read_export_query(params))

    @property
    def passes(self) -> tuple[bool, int]:
        return True, 1

    def ask(self, slice_: Slice) -> ExportRequest:
        """Returns what is to be exported of a slice. Raises `SliceError`."""
        return resolve_export(slice_, self.exporter, self.how)

    def slices(self, slice_: Slice) -> Sequence[Slice]:
        return self.ask(slice_).slices

    def check(self, slice_: Slice) -> None:
        self.ask(slice_)

    def write(self, project: Project, slice_: Slice, link: str, reading: Reading) -> JobResult:
        asked = self.ask(slice_)
        export = select_export(asked, project=project.name, link=link, reading=reading)
        name = name_export(project, asked) + self.exporter.suffix
        # Of a file that is gzip itself the plain bytes are stored, packed as all results are: that is the file.
        if self.as_gzip_file:
            return JobResult(GZIP_TYPE, name + ".gz", self.exporter.write(export))
        return JobResult(self.exporter.media_type, name, self.exporter.write(export))


def write_json(kind: str, project: Project, slice_: Slice, answer: Json) -> JobResult:
    """Returns an answer as the file that the read API would send."""
    return JobResult("application/json", f"{name_file(project, slice_)}-{kind}.json", [JSONRenderer().render(answer)])


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of question: the parameters it knows beside the slice's, and who reads them."""

    params: tuple[str, ...]
    read: Callable[[QueryDict], Question]

    @property
    def known(self) -> tuple[str, ...]:
        return (*ALL_FIELDS, *self.params)


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "functions": Kind(("category", "q", "group_by", "sort", "limit", "measure"), FunctionsQuestion.read),
        "calltree": Kind(("min_share", "max_nodes"), CallTreeQuestion.read),
        "flamegraph": Kind(("min_share", "max_nodes", *SIDE_FIELDS), FlameGraphQuestion.read),
        "profile": Kind((*EXPORT_FIELDS, "format", "compress"), ProfileQuestion.read),
    }
)
