"""The queries that jobs can answer, by their kinds."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from dashboard.api.slices.calltree import CallTreeQuery
from dashboard.api.slices.flamegraph import FlameGraphQuery
from dashboard.api.slices.functions import FunctionsQuery
from dashboard.api.slices.profile import ProfileQuery
from dashboard.api.slices.queries import Query
from dashboard.api.slices.vitals import VitalsTableQuery

QUERIES: Final[tuple[type[Query], ...]] = (
    FunctionsQuery,
    CallTreeQuery,
    FlameGraphQuery,
    VitalsTableQuery,
    ProfileQuery,
)
KINDS: Final[Mapping[str, type[Query]]] = MappingProxyType({query.kind: query for query in QUERIES})
