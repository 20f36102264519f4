"""What Citus would refuse of a statement, or send to every shard: found in its parse tree, without Citus.

PostgreSQL's own grammar reads the statement (pglast). A statement about one project goes to one shard, and every SQL is
allowed there. So the rules are:

- Each distributed table is pinned to one project, in each subquery again: Citus does not look around it.
- A distributed table never meets a local one. A materialized query of WITH may read local tables: Citus asks it first.
- A reference table is not changed by what a distributed one says.
- Nothing volatile is asked where rows change, and nothing of a session, such as a lock, where a shard is read.
- An EXISTS that asks all shards selects a column: its answer is sent along, and Citus cannot send rows without one.
- Columns of a query of WITH are named inside it: Citus forgets a list of names behind the query's own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import pglast
from pglast import enums, parse_sql

from ops.citus.placement import SHARD_COLUMN as KEY
from ops.citus.placement import Place, list_places
from tests.citus.grammar import has_no_column, may_join, name_of
from tests.citus.scopes import CONSTANT, Node, Relation, Scope

ast: Any = pglast.ast  # Any: each field of its classes may be None, which the grammar excludes here
# Views of the database, and the table that each reads.
VIEWS: Final = {"aggregate_hotspot": "aggregate_hotspotpiece"}
# Functions of the session or of the server that runs them: on Citus that is a worker's, if a shard is read beside.
OF_THE_SESSION: Final = re.compile(
    r"pg_(try_)?advisory|pg_backend_pid|pg_notify|nextval|currval|set_config|txid_|pg_curr"
)
VOLATILE: Final = re.compile(r"clock_timestamp|timeofday|random|gen_random_uuid|uuidv")
PARTITION: Final = re.compile(r"_(\d{8}|default)$")


@dataclass(frozen=True, slots=True)
class Finding:
    """One rule that a statement breaks."""

    rule: str
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.detail}"


@cache
def places_of_tables() -> Mapping[str, Place]:
    """Returns the place of each table, and of each view of the database over one."""
    places = list_places()
    return places | {view: places[table] for view, table in VIEWS.items()}


class _Reading:
    """One statement while it is read."""

    def __init__(self, places: Mapping[str, Place]) -> None:
        self.places = places
        self.tables: dict[Node, str] = {}  # the distributed tables that must be pinned
        self.parents: dict[Node, Node] = {}
        self.used: dict[Place, set[str]] = {place: set() for place in Place}
        self.changed: set[str] = set()
        self.functions: set[str] = set()
        self.findings: list[Finding] = []
        self.empty: list[set[Node]] = []  # the distributed tables of each EXISTS without a column

    # Which nodes are equal.

    def _root(self, node: Node) -> Node:
        while (parent := self.parents.get(node, node)) is not node:
            node = parent
        return node

    def _equate(self, one: Node, other: Node) -> None:
        roots = [self._root(one), self._root(other)]
        kept = CONSTANT if CONSTANT in roots else roots[0]
        for root in roots:
            self.parents[root] = kept

    def is_pinned(self, node: Node) -> bool:
        """Tells whether a node is one constant in the whole statement."""
        return self._root(node) == CONSTANT

    def list_sent_without_column(self) -> Iterator[str]:
        """Yields a table of each EXISTS without a column that is answered apart: by all shards, without a join."""
        for nodes in self.empty:
            around = {self._root(node) for node in self.tables.keys() - nodes}
            if any(not self.is_pinned(node) and self._root(node) not in around for node in nodes):
                yield min(self.tables[node] for node in nodes)

    # Tables.

    def place_of(self, name: str, schema: str | None) -> Place:
        """Returns the place of a table; those of the system are local, and a partition is as its parent."""
        if schema in ("pg_catalog", "information_schema") or name.startswith("pg_"):
            return Place.LOCAL
        parent = PARTITION.sub("", name)
        return self.places.get(name) or self.places.get(parent) or Place.LOCAL

    def add_table(self, table: Any, scope: Scope) -> None:
        """Notes a table of a FROM under its alias; a name of WITH is the query there."""
        alias = table.alias.aliasname if table.alias else table.relname
        query = scope.find_query(table.relname) if table.schemaname is None else None
        if query is not None:
            scope.relations[alias] = Relation(query)
            return
        place = self.place_of(table.relname, table.schemaname)
        self.used[place].add(table.relname)
        node = (alias, table.location, len(self.tables))
        if place is Place.DISTRIBUTED:
            self.tables[node] = f"{table.relname} {alias}" if alias != table.relname else alias
        columns = {KEY: node} if place is Place.DISTRIBUTED or table.relname != "projects_project" else {"id": node}
        scope.relations[alias] = Relation(columns)

    # Queries.

    def read(self, statement: Any, outer: Scope | None = None, *, is_as_a_join: bool = False) -> Mapping[str, Node]:
        """Reads a statement; returns the nodes of its columns that hold a project's id."""
        scope = Scope(outer, is_as_a_join=is_as_a_join)
        if isinstance(statement, ast.SelectStmt):
            return self._read_select(statement, scope)
        if isinstance(statement, (ast.UpdateStmt, ast.DeleteStmt)):
            return self._read_change(statement, scope)
        if isinstance(statement, ast.InsertStmt):
            return self._read_insert(statement, scope)
        self._walk(statement, scope)
        return {}

    def _read_with(self, clause: Any, scope: Scope) -> None:
        for query in clause.ctes if clause else ():
            if clause is not None and clause.recursive:
                scope.queries[query.ctename] = {}
            around, self.used = self.used, {place: set() for place in Place}
            columns = self.read(query.ctequery, scope)
            is_apart = query.ctematerialized == enums.CTEMaterialize.CTEMaterializeAlways
            if not is_apart or self.used[Place.DISTRIBUTED]:  # else it is asked first, and its answer sent along
                for place, tables in self.used.items():
                    around[place] |= tables
            self.used = around
            names = [name.sval for name in query.aliascolnames or ()]
            if names and self.used[Place.DISTRIBUTED]:
                self.findings.append(Finding("column names", f"{query.ctename} has a list of them"))
            scope.queries[query.ctename] = self._rename(query.ctequery, columns, names)

    def _rename(self, query: Any, columns: Mapping[str, Node], names: Sequence[str]) -> Mapping[str, Node]:
        """Returns the columns of a query under the names that its alias gives them."""
        if not names or not isinstance(query, ast.SelectStmt):
            return columns
        while query.op != 0 and query.larg is not None:
            query = query.larg
        targets = [name_of(target) for target in query.targetList or ()]
        return {new: columns[old] for new, old in zip(names, targets, strict=False) if old in columns}

    def _read_select(self, select: Any, scope: Scope) -> Mapping[str, Node]:
        self._read_with(select.withClause, scope)
        if select.larg is not None and select.rarg is not None:
            arms = [self.read(select.larg, scope), self.read(select.rarg, scope)]
            self._walk((select.sortClause, select.limitCount, select.limitOffset), scope)
            both = arms[0].keys() & arms[1].keys()
            pinned = {name for name in both if all(self.is_pinned(arm[name]) for arm in arms)}
            return {name: CONSTANT if name in pinned else object() for name in both}
        self._read_from(select.fromClause or (), scope)
        for part in (select.whereClause, select.havingClause):
            self._read_condition(part, scope)
        rest = (select.groupClause, select.sortClause, select.limitCount, select.limitOffset, select.windowClause)
        self._walk((*rest, select.distinctClause, select.valuesLists), scope)
        return self._read_targets(select.targetList or (), scope)

    def _read_targets(self, targets: Sequence[Any], scope: Scope) -> Mapping[str, Node]:
        columns: dict[str, Node] = {}
        for target in targets:
            self._walk(target.val, scope)
            if isinstance(target.val, ast.ColumnRef) and isinstance(target.val.fields[-1], ast.A_Star):
                alias = target.val.fields[0].sval if len(target.val.fields) > 1 else None
                for name, relation in scope.relations.items():
                    columns |= relation.columns if alias in (None, name) else {}
                continue
            node = self._node_of(target.val, scope)
            if node is not None:
                columns[name_of(target)] = node
        return columns

    def _read_from(self, sources: Sequence[Any], scope: Scope) -> None:
        for source in sources:
            if isinstance(source, ast.RangeVar):
                self.add_table(source, scope)
            elif isinstance(source, ast.JoinExpr):
                self._read_from((source.larg, source.rarg), scope)
                self._read_condition(source.quals, scope)
                if source.usingClause and KEY in [name.sval for name in source.usingClause]:
                    nodes = [relation.columns[KEY] for relation in scope.relations.values() if KEY in relation.columns]
                    for node in nodes[1:]:
                        self._equate(nodes[0], node)
            elif isinstance(source, ast.RangeSubselect):
                columns = self.read(source.subquery, scope)
                names = [name.sval for name in source.alias.colnames or ()] if source.alias else []
                alias = source.alias.aliasname if source.alias else str(id(source))
                scope.relations[alias] = Relation(self._rename(source.subquery, columns, names))
            else:  # a function: it has no project's id, but may read
                self._walk(source, scope)
                alias = getattr(source, "alias", None)
                if alias is not None:
                    scope.relations[alias.aliasname] = Relation({})

    def _read_change(self, change: Any, scope: Scope) -> Mapping[str, Node]:
        self._read_with(change.withClause, scope)
        self.add_table(change.relation, scope)
        self.changed.add(change.relation.relname)
        sources = change.fromClause if isinstance(change, ast.UpdateStmt) else change.usingClause
        self._read_from(sources or (), scope)
        self._read_condition(change.whereClause, scope)
        if isinstance(change, ast.UpdateStmt):
            for target in change.targetList:
                self._walk(target.val, scope)
                if target.name == KEY and self.place_of(change.relation.relname, None) is Place.DISTRIBUTED:
                    self.findings.append(Finding("moves rows", f"{change.relation.relname} gets another {KEY}"))
        return self._read_returning(change, scope)

    def _read_returning(self, change: Any, scope: Scope) -> Mapping[str, Node]:
        clause = change.returningClause
        targets = getattr(clause, "exprs", clause) or ()
        return self._read_targets(targets, scope)

    def _read_insert(self, insert: Any, scope: Scope) -> Mapping[str, Node]:
        self._read_with(insert.withClause, scope)
        self.changed.add(insert.relation.relname)
        select = insert.selectStmt
        self.add_table(insert.relation, scope)
        key = next(iter(scope.relations.values())).columns.get(KEY)
        names = [column.name for column in insert.cols or ()]
        if isinstance(select, ast.SelectStmt):
            columns = self.read(select, Scope(scope, queries=scope.queries))
            place = names.index(KEY) if KEY in names else None
            value = None if place is None else self._value_at(select, place, columns, scope)
            if (
                place is not None
                and not select.larg
                and all(isinstance(source, ast.RangeFunction) for source in select.fromClause or ())
            ):
                value = CONSTANT  # each row says whose it is
            if key is not None and value is not None:
                self._equate(key, value)
        conflict = insert.onConflictClause
        if conflict is not None:
            self._read_condition(conflict.whereClause, scope)
            self._walk([target.val for target in conflict.targetList or ()], scope)
            self._check_conflict(conflict, insert.relation.relname)
        return self._read_returning(insert, scope)

    def _check_conflict(self, conflict: Any, table: str) -> None:
        keys = [element.name for element in (conflict.infer.indexElems or ())] if conflict.infer else []
        if keys and keys[0] != KEY and self.place_of(table, None) is Place.DISTRIBUTED:
            self.findings.append(Finding("conflict target", f"that of {table} does not begin with {KEY}"))

    def _value_at(self, select: Any, place: int, columns: Mapping[str, Node], scope: Scope) -> Node | None:
        """Returns the node of the value that an INSERT puts into the column at a place."""
        if select.valuesLists:
            rows = [self._node_of(row[place], scope) for row in select.valuesLists]
            return CONSTANT if all(row == CONSTANT for row in rows) else None
        while select.larg is not None:
            select = select.larg
        if len(select.targetList) <= place:
            return columns.get(KEY)  # of a `*`
        return columns.get(name_of(select.targetList[place]))

    # Conditions and expressions.

    def _read_condition(self, condition: Any, scope: Scope) -> None:
        """Notes which nodes a condition makes equal: those of its equations that are joined by AND."""
        if isinstance(condition, ast.BoolExpr) and condition.boolop == enums.BoolExprType.AND_EXPR:
            for part in condition.args:
                self._read_condition(part, scope)
            return
        is_not = isinstance(condition, ast.BoolExpr) and condition.boolop == enums.BoolExprType.NOT_EXPR
        asked = condition.args[0] if is_not else condition
        if may_join(asked):
            known = set(self.tables)
            self.read(asked.subselect, scope, is_as_a_join=True)
            if has_no_column(asked):
                self.empty.append(self.tables.keys() - known)
            return
        self._walk(condition, scope)
        kind = condition.kind if isinstance(condition, ast.A_Expr) else None
        if kind == enums.A_Expr_Kind.AEXPR_OP and condition.name[-1].sval == "=":
            pairs = [(condition.lexpr, condition.rexpr)]
            if isinstance(condition.lexpr, ast.RowExpr) and isinstance(condition.rexpr, ast.RowExpr):
                pairs = list(zip(condition.lexpr.args, condition.rexpr.args, strict=True))
            for left, right in pairs:
                one, other = self._node_of(left, scope), self._node_of(right, scope)
                if one is not None and other is not None:
                    self._equate(one, other)
        if kind == enums.A_Expr_Kind.AEXPR_IN and len(condition.rexpr) == 1:
            one, other = self._node_of(condition.lexpr, scope), self._node_of(condition.rexpr[0], scope)
            if one is not None and other is not None:
                self._equate(one, other)

    def _node_of(self, expression: object, scope: Scope) -> Node | None:
        """Returns the node of an expression: a project's id in a table, a constant, or None for anything else."""
        while isinstance(expression, ast.TypeCast):
            expression = expression.arg
        if isinstance(expression, (ast.A_Const, ast.ParamRef)):
            return CONSTANT
        if isinstance(expression, ast.ColumnRef):
            names = [part.sval for part in expression.fields if isinstance(part, ast.String)]
            return scope.find_node(names[-2] if len(names) > 1 else None, names[-1]) if names else None
        return None

    def _walk(self, node: object, scope: Scope) -> None:
        """Reads the subqueries and functions of an expression."""
        if isinstance(node, (list, tuple)):
            for child in node:
                self._walk(child, scope)
        elif isinstance(node, (ast.SelectStmt, ast.InsertStmt, ast.UpdateStmt, ast.DeleteStmt)):
            self.read(node, scope)
        elif isinstance(node, ast.Node):
            if isinstance(node, ast.RangeVar):
                self.add_table(node, scope)
            if isinstance(node, ast.FuncCall):
                self.functions.add(node.funcname[-1].sval)
            if has_no_column(node):
                known = set(self.tables)
                self.read(node.subselect, scope)
                self.empty.append(self.tables.keys() - known)
                return
            for name in node.__slots__:
                self._walk(getattr(node, name, None), scope)


READABLE: Final = (ast.SelectStmt, ast.InsertStmt, ast.UpdateStmt, ast.DeleteStmt, ast.DeclareCursorStmt, ast.CopyStmt)


def find_broken_rules(sql: str, places: Mapping[str, Place] | None = None) -> Iterator[Finding]:
    """Yields the rules that a statement breaks. Statements about the schema and transactions have none."""
    for raw in parse_sql(sql):
        statement = raw.stmt
        if not isinstance(statement, READABLE):
            continue
        reading = _Reading(places or places_of_tables())
        inner = statement.query if isinstance(statement, (ast.DeclareCursorStmt, ast.CopyStmt)) else statement
        reading.read(inner or statement)
        yield from reading.findings
        distributed, local = sorted(reading.used[Place.DISTRIBUTED]), sorted(reading.used[Place.LOCAL])
        if not distributed:
            continue
        for node, table in reading.tables.items():
            if not reading.is_pinned(node):
                yield Finding("all shards", f"{table} is not pinned to one project")
        for table in reading.list_sent_without_column():
            yield Finding("no column", f"an EXISTS about {table} selects none, and its answer is sent to all shards")
        if local:
            yield Finding("local", f"{distributed[0]} is distributed, and {local[0]} is on the coordinator only")
        for table in sorted(reading.changed):
            if reading.place_of(table, None) is Place.REFERENCE:
                yield Finding("reference", f"{table} is changed by what {distributed[0]} says")
        for function in sorted(reading.functions):
            if VOLATILE.match(function) and reading.changed:
                yield Finding("volatile", f"{function}() is asked where rows change; statement_timestamp() may be")
            if OF_THE_SESSION.match(function):
                yield Finding("session", f"{function}() would be a worker's, beside {distributed[0]}")
