"""The comparison that a query of the page leads to."""

from dataclasses import dataclass
from typing import Self

from aggregate.selectors.code.symbols import Symbols, load_symbols
from aggregate.selectors.statistics.comparisons import SliceComparison
from dashboard.layout.sides import Sides
from dashboard.pages.compare.query import CompareQuery, TableOptions
from dashboard.web.cache import cached_comparison, key_of_sides
from dashboard.web.queries import write_query
from projects.models import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRequest:
    """Two sides to compare and the rows to show; an equal `key` means an equal comparison."""

    project: Project
    sides: Sides
    options: TableOptions
    key: tuple[object, ...]

    @classmethod
    def of(cls, query: CompareQuery) -> Self:
        """Looks up the key of a query's sides. Raises `SliceError` and `ParamError` without sides."""
        sides = query.require_sides()
        key = key_of_sides(sides.base, sides.head)
        return cls(project=query.project, sides=sides, options=query.options, key=key)

    def compare(self) -> SliceComparison:
        """Returns the comparison."""
        options = self.options
        return cached_comparison(self.sides.base, self.sides.head, options.measure, options.by, key=repr(self.key))

    def query(self, options: TableOptions) -> str:
        """Returns the query string that shows other rows of the same sides."""
        return write_query([*self.sides.params(), *options.params()])

    def code(self) -> Symbols:
        """Returns the project's rules and labels."""
        return load_symbols(self.sides.base.project_id, as_stored=self.sides.base.as_stored)
