"""The names that the parts of a statement know, and which of their columns hold a project's id."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ops.citus.placement import SHARD_COLUMN as KEY

Node = object  # a place where a project's id stands: of one table in the statement, or a constant
CONSTANT: Final = "constant"


@dataclass(slots=True)
class Relation:
    """A name in a FROM: a table, or what a subquery gives. `columns` are the nodes of its project ids by column."""

    columns: Mapping[str, Node]


@dataclass(slots=True)
class Scope:
    """The names that a part of a statement knows: of its FROM, of its WITH, and those around it."""

    outer: "Scope | None" = None
    is_as_a_join: bool = False  # of an EXISTS, which PostgreSQL turns into a join with what is around it
    relations: dict[str, Relation] = field(default_factory=dict)
    queries: dict[str, Mapping[str, Node]] = field(default_factory=dict)

    def find_query(self, name: str) -> Mapping[str, Node] | None:
        """Returns the columns of a query of WITH, None if there is none of that name."""
        if name in self.queries:
            return self.queries[name]
        return self.outer.find_query(name) if self.outer else None

    def find_node(self, alias: str | None, column: str) -> Node | None:
        """Returns the node that a column means, None if it holds no project's id.

        What the query around says does not count: a subquery goes to a shard for what it says itself.
        """
        for name, relation in self.relations.items():
            if (alias is None or alias == name) and column in relation.columns:
                return relation.columns[column]
        node = self.outer.find_node(alias, column) if self.is_as_a_join and self.outer else None
        return None if node is not None and column != KEY else node  # a project's own row is on every server
