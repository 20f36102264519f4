"""Questions about a slice: their parameters are checked once, for an endpoint or for a job.

Endpoints answer at once, within the limits of a request. Jobs answer page by page, without these limits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from django.http import QueryDict

from aggregate.jobs.runs import JobResult
from aggregate.selectors.exports.requests import (
    EXPORT_FIELDS,
    ExportQuery,
    ExportRequest,
    resolve_export,
    select_export,
)
from aggregate.selectors.exports.slice_export import fingerprint_slice
from aggregate.selectors.functions.calls import select_call_tree
from aggregate.selectors.functions.groups import GROUPINGS
from aggregate.selectors.functions.tree_columns import select_tree_columns
from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.sides import SIDE_FIELDS, has_sides, resolve_sides
from aggregate.selectors.slice.slices import FINE_FIELDS, SLICE_FIELDS, Slice
from aggregate.selectors.statistics.estimates import TABLE_SORTS, TableQuery, select_estimated
from aggregate.selectors.vitals.table import VitalsQuery, check_vitals, select_vitals
from dashboard.api.core.encoding import encode_functions
from dashboard.api.slices.drilldown_schemas import encode_call_tree
from dashboard.api.slices.flamegraph import encode_tree_columns
from dashboard.api.slices.vitals_encoding import DEFAULT_ROWS, MAX_ROWS, WAITS, encode_vitals
from dashboard.web.answers import write_json
from dashboard.web.cache import answer_table, answer_vitals
from dashboard.web.exports import name_export, name_file
from dashboard.web.params import (
    read_choice,
    read_count,
    read_export_query,
    read_measure,
    read_narrowing,
    read_share,
)
from dashboard.web.schemas import Json
from profcore.formats.registry import EXPORTERS, Exporter
from projects.models import Project

# A heavy page has some thousands of functions; the limit keeps an answer to a few MB.
MAX_FUNCTIONS: Final = 10_000
MAX_NODES: Final = 100_000
FLAME_NODES: Final = 20_000  # a browser draws as many within a frame (docs/benchmarks.md)
ALL_FIELDS: Final = (*SLICE_FIELDS, *FINE_FIELDS)
GZIP_TYPE: Final = "application/gzip"


class Question(Protocol):
    """A question about a slice."""

    @property
    def passes(self) -> tuple[bool, int]:
        """Whether a fine slice always needs its raw traces, and how often its traces are read."""
        ...

    def slices(self, slice_: Slice) -> Sequence[Slice]:
        """Returns the slices to read. Raises `SliceError` if question and slice contradict each other."""
        ...

    def check(self, slice_: Slice) -> None:
        """Raises `SliceError` if the question and the slice contradict each other."""
        ...

    def write(self, project: Project, slice_: Slice, link: str, reading: Reading) -> JobResult:
        """Returns the answer as a file, in pieces."""
        ...


@dataclass(frozen=True, slots=True)
class FunctionsQuery:
    """`functions`: the slice's functions, or groups of them."""

    asked: TableQuery

    @classmethod
    def read(cls, params: QueryDict) -> "FunctionsQuery":
        grouping = read_choice(params, "group_by", ("function", *GROUPINGS), "function")
        narrowing = read_narrowing(params)
        sort = read_choice(params, "sort", TABLE_SORTS, "self_ms")
        measure = read_measure(params, group_by=grouping, default="self")
        limit = read_count(params, "limit", default=MAX_FUNCTIONS, high=MAX_FUNCTIONS)
        return cls(
            TableQuery(
                group_by=grouping,
                sort=sort,
                limit=limit,
                categories=narrowing.categories,
                measure=measure,
                search=narrowing.search,
            )
        )

    @property
    def passes(self) -> tuple[bool, int]:
        return (False, 1) if self.asked.group_by == "function" else (True, 3)

    def answer(self, slice_: Slice, reading: Reading | None = None) -> Json:
        at_once = reading is None
        table = answer_table(slice_, self.asked) if at_once else select_estimated(slice_, self.asked, reading)
        return encode_functions(slice_, table, select_arrivals(slice_))

    def slices(self, slice_: Slice) -> Sequence[Slice]:
        return [slice_]

    def check(self, slice_: Slice) -> None:
        """Any slice will do."""

    def write(self, project: Project, slice_: Slice, link: str, reading: Reading) -> JobResult:
        return write_answer("functions", project, slice_, self.answer(slice_, reading))


@dataclass(frozen=True, slots=True)
class CallTreeQuery:
    """`calltree`: the slice's merged call tree, pruned."""

    min_share: float
    max_nodes: int

    @classmethod
    def read(cls, params: QueryDict) -> "CallTreeQuery":
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
        return write_answer("calltree", project, slice_, self.answer(slice_, reading))


@dataclass(frozen=True, slots=True)
class FlameGraphQuery:
    """`flamegraph`: the slice's call tree by columns, or that of two releases side by side."""

    min_share: float
    max_nodes: int
    how: ExportQuery

    @classmethod
    def read(cls, params: QueryDict) -> "FlameGraphQuery":
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
        """Returns the facts that decide the answer: they change with every trace folded into a slice."""
        sides = [(each.query(), fingerprint_slice(each)) for each in self.slices(slice_)]
        return self.min_share, self.max_nodes, sides

    def write(self, project: Project, slice_: Slice, link: str, reading: Reading) -> JobResult:
        return write_answer("flamegraph", project, slice_, self.answer(slice_, reading))


@dataclass(frozen=True, slots=True)
class ProfileQuery:
    """`profile`: the slice in a viewer's format, or its views, segments or difference."""

    exporter: Exporter
    as_gzip_file: bool
    how: ExportQuery

    @classmethod
    def read(cls, params: QueryDict) -> "ProfileQuery":
        exporter = EXPORTERS[read_choice(params, "format", list(EXPORTERS), "")]
        as_gzip_file = read_choice(params, "compress", ("none", "gzip"), "none") == "gzip"
        return cls(exporter, as_gzip_file and not exporter.is_packed, read_export_query(params))

    @property
    def passes(self) -> tuple[bool, int]:
        return True, 1

    def ask(self, slice_: Slice) -> ExportRequest:
        """Returns the export of a slice. Raises `SliceError`."""
        return resolve_export(slice_, self.exporter, self.how)

    def slices(self, slice_: Slice) -> Sequence[Slice]:
        return self.ask(slice_).slices

    def check(self, slice_: Slice) -> None:
        self.ask(slice_)

    def write(self, project: Project, slice_: Slice, link: str, reading: Reading) -> JobResult:
        asked = self.ask(slice_)
        export = select_export(asked, project=project.name, link=link, reading=reading)
        name = name_export(project, asked) + self.exporter.suffix
        # All results are stored packed. So for a gzip file the plain bytes go in, and the packed result is the file.
        if self.as_gzip_file:
            return JobResult(GZIP_TYPE, name + ".gz", self.exporter.write(export))
        return JobResult(self.exporter.media_type, name, self.exporter.write(export))


@dataclass(frozen=True, slots=True)
class VitalsTableQuery:
    """`vitals`: what ran in the windows of the slice's views."""

    asked: VitalsQuery

    @classmethod
    def read(cls, params: QueryDict) -> "VitalsTableQuery":
        return cls(
            VitalsQuery(
                group_by=read_choice(params, "group_by", ("function", *GROUPINGS), "function"),
                limit=read_count(params, "limit", default=DEFAULT_ROWS, high=MAX_ROWS),
                only_slow=read_choice(params, "waits", WAITS, "all") == "slow",
            )
        )

    @property
    def passes(self) -> tuple[bool, int]:
        return False, 1

    def answer(self, slice_: Slice, reading: Reading | None = None) -> Json:
        if reading is None:
            table = answer_vitals(slice_, self.asked)
        else:
            table = select_vitals(slice_, self.asked, reading=reading)
        return encode_vitals(slice_, table, group_by=self.asked.group_by)

    def slices(self, slice_: Slice) -> Sequence[Slice]:
        return [slice_]

    def check(self, slice_: Slice) -> None:
        check_vitals(slice_)

    def write(self, project: Project, slice_: Slice, link: str, reading: Reading) -> JobResult:
        return write_answer("vitals", project, slice_, self.answer(slice_, reading))


def write_answer(kind: str, project: Project, slice_: Slice, answer: Json) -> JobResult:
    """Returns an answer as the file that the read API would send."""
    return JobResult("application/json", f"{name_file(project, slice_)}-{kind}.json", [write_json(answer)])


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of question: its parameters apart from the slice's, and the function that reads them."""

    params: tuple[str, ...]
    read: Callable[[QueryDict], Question]

    @property
    def known(self) -> tuple[str, ...]:
        return (*ALL_FIELDS, *self.params)


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "functions": Kind(("category", "q", "group_by", "sort", "limit", "measure"), FunctionsQuery.read),
        "calltree": Kind(("min_share", "max_nodes"), CallTreeQuery.read),
        "flamegraph": Kind(("min_share", "max_nodes", *SIDE_FIELDS), FlameGraphQuery.read),
        "vitals": Kind(("group_by", "limit", "waits"), VitalsTableQuery.read),
        "profile": Kind((*EXPORT_FIELDS, "format", "compress"), ProfileQuery.read),
    }
)
