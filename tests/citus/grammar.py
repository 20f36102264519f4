"""What a part of a statement's parse tree says by itself."""

from typing import Any

import pglast
from pglast import enums

ast: Any = pglast.ast  # Any: each field of its classes may be None, which the grammar excludes here


def may_join(condition: Any) -> bool:
    """Tells whether a condition is an EXISTS that PostgreSQL turns into a join."""
    if not isinstance(condition, ast.SubLink) or condition.subLinkType != enums.SubLinkType.EXISTS_SUBLINK:
        return False
    query = condition.subselect
    is_plain = not (query.groupClause or query.havingClause or query.limitCount or query.limitOffset or query.larg)
    return is_plain and not query.withClause


def has_no_column(node: Any) -> bool:
    """Tells whether a node is an EXISTS whose query selects nothing."""
    is_exists = isinstance(node, ast.SubLink) and node.subLinkType == enums.SubLinkType.EXISTS_SUBLINK
    return is_exists and not node.subselect.targetList and not node.subselect.larg


def name_of(target: Any) -> str:
    """Returns the name of a column of a SELECT."""
    if target.name:
        return str(target.name)
    value = target.val
    while isinstance(value, ast.TypeCast):
        value = value.arg
    last = value.fields[-1] if isinstance(value, ast.ColumnRef) else None
    return str(last.sval) if isinstance(last, ast.String) else "?column?"
