"""`flamegraph`: the call tree as columns for the browser: a quarter of the size of rows, a twelfth when packed."""

from typing import Any

from rest_framework import serializers

from aggregate.selectors.functions.tree_columns import SliceTreeColumns, TreeSide
from aggregate.selectors.slice.slices import Slice
from dashboard.api.core.encoding import DisplayShape, SliceShape, TimeShape, encode_slice, encode_time
from dashboard.web.schemas import Json, Shape, define_shape


def _texts(*, allow_null: bool = False, allow_blank: bool = False) -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField(allow_null=allow_null, allow_blank=allow_blank))


def _integers(*, allow_null: bool = False) -> serializers.ListField:
    return serializers.ListField(child=serializers.IntegerField(allow_null=allow_null))


def make_func_columns(
    *, may_lack_ids: bool = False
) -> dict[str, serializers.Field[Any, Any, Any, Any]]:  # Any: as DRF types a field
    """Returns the columns that identify functions."""
    return {
        "id": _texts(allow_null=may_lack_ids),
        "name": _texts(allow_blank=True),
        "label": _texts(),
        "uri": _texts(allow_null=True),
        "line": _integers(allow_null=True),
        "column": _integers(allow_null=True),
        "original_source": _texts(allow_null=True),
        "original_line": _integers(allow_null=True),
        "original_column": _integers(allow_null=True),
        "category": _texts(allow_null=True),
        "package": _texts(allow_null=True),
        "is_group": serializers.ListField(child=serializers.BooleanField()),
        "colour": _texts(allow_null=True),
    }


FuncColumnsShape = define_shape("FuncColumnsShape", "The functions, as columns.", make_func_columns())


class NodeColumnsShape(Shape):
    prefix = serializers.ListField(
        child=serializers.IntegerField(), help_text="The caller's index, callers first; -1 for a root."
    )
    function = serializers.ListField(child=serializers.IntegerField(), help_text="An index into functions.")


class TreeSideShape(Shape):
    views = serializers.IntegerField()
    traces = serializers.IntegerField()
    time_ms = TimeShape()
    self_ms = serializers.ListField(
        child=serializers.FloatField(), help_text="Per node; 0 if this side does not have it."
    )
    total_ms = serializers.ListField(
        child=serializers.FloatField(), help_text="Of the whole tree, including pruned nodes below."
    )
    hidden_ms = serializers.ListField(child=serializers.FloatField())


class FlameGraphShape(Shape):
    slice = SliceShape()
    source = serializers.CharField(help_text="Where the sums come from: cells or raw.")  # type: ignore[assignment]  # a word of DRF's own
    display = DisplayShape()
    functions = FuncColumnsShape()
    nodes = NodeColumnsShape()
    head = TreeSideShape(help_text="The slice, or the head's slice.")
    base = TreeSideShape(allow_null=True, help_text="That of the base.")
    pruned_nodes = serializers.IntegerField(
        help_text="Of both sides. Their time is still in the totals of their callers."
    )


def encode_tree_columns(slice_: Slice, columns: SliceTreeColumns) -> Json:
    *base, head = columns.sides
    return {
        "slice": encode_slice(slice_),
        "source": columns.source,
        "display": {"rules": columns.display_rules},
        "functions": _encode_funcs(columns),
        "nodes": {"prefix": columns.prefix, "function": columns.func},
        "head": _encode_side(head),
        "base": _encode_side(base[0]) if base else None,
        "pruned_nodes": columns.left_out_nodes,
    }


def _encode_funcs(columns: SliceTreeColumns) -> Json:
    funcs = columns.funcs
    originals = [row.mapped.original if row.mapped else None for row in funcs]
    return {
        "id": [str(row.id) for row in funcs],
        **{name: [getattr(row, name) for row in funcs] for name in ("name", "label", "uri", "line", "column")},
        "original_source": [original and original.source for original in originals],
        "original_line": [original and original.line for original in originals],
        "original_column": [original and original.column for original in originals],
        "category": [row.category for row in funcs],
        "package": columns.packages,
        "is_group": [row.is_made for row in funcs],
        "colour": [row.shown.colour if row.shown else None for row in funcs],
    }


def _encode_side(side: TreeSide) -> Json:
    return {
        "views": side.views,
        "traces": side.traces,
        "time_ms": encode_time(side.time),
        "self_ms": [us / 1000 for us in side.self_us],
        "total_ms": [us / 1000 for us in side.total_us],
        "hidden_ms": [us / 1000 for us in side.hidden_us],
    }
