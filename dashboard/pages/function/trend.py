"""Parts of a function's page about releases: the trend, the last step, and functions that may be the same."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

from django.http import QueryDict
from msgspec import structs

from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.functions.renames import select_other_names
from aggregate.selectors.project.pages import select_releases
from aggregate.selectors.statistics.function_costs import select_costs
from aggregate.selectors.statistics.function_steps import (
    of_release,
    select_homes,
    select_kin,
    select_relatives,
    select_step,
)
from dashboard.pages.function.costs import Context, CostRow, draw_rows, make_row
from dashboard.pages.function.query import FunctionQuery
from dashboard.web.params import ParamError, read_one

MOST_RELEASES: Final = 12  # as many as have room for a label below them

Between = tuple[str, str]  # two releases, the earlier one first


def build_trend(query: FunctionQuery, _params: QueryDict) -> Context:
    """Returns the cost in each release, the newest last. The slice's releases are only marked."""
    everywhere = replace(query.slice_, releases=())
    known = [row.release for row in select_releases(query.project.pk)]
    newest = known[:MOST_RELEASES][::-1]
    is_mapped = query.func.mapped is not None
    others = select_other_names(load_symbols(query.project.pk), query.func) if is_mapped else []
    kin = select_kin(query.project.pk, query.func, query.ref, others)
    costs = select_costs(everywhere, kin, "release", measures=(query.measure,), values=newest)
    marked = query.slice_.releases
    is_followed = kin.funcs != query.ref.funcs
    homes = select_homes(everywhere, kin) if is_followed else {}
    rows = []
    for cost in costs.rows:
        name = cost.sums.value
        there = replace(query, func=structs.replace(query.func, id=homes.get(name, query.func.id)))
        rows.append(replace(make_row(there, cost, of_release(everywhere, name)), is_marked=name in marked))
    return {
        "rows": rows,
        "chart": draw_rows(query, rows),
        "left_out": len(known) - len(newest),
        "has_few": any(row.cost.is_too_few for row in rows),
        "is_wider": bool(marked),
        "is_followed": is_followed and not others,
        "other_names": others,
        "step_links": _link(query, "step", _find_step(rows)),
        "relative_links": _link(query, "relatives", _find_ends(query, rows)),
    }


def _find_step(rows: Sequence[CostRow]) -> list[Between]:
    """Returns the last two releases, or the newest of the slice and the one before it."""
    names = [row.cost.sums.value for row in rows]
    last = max((at for at, row in enumerate(rows) if row.is_marked), default=len(rows) - 1)
    return [(names[last - 1], names[last])] if last > 0 else []


def _find_ends(query: FunctionQuery, rows: Sequence[CostRow]) -> list[Between]:
    """Returns the releases between which the function begins or ends."""
    if query.func.mapped is None:
        return []  # without source maps no functions can be matched
    names = [row.cost.sums.value for row in rows]
    ran = [at for at, row in enumerate(rows) if row.cost.sums.total_us or row.cost.sums.hidden_us]
    begins = [(names[ran[0] - 1], names[ran[0]])] if ran and ran[0] > 0 else []
    ends = [(names[ran[-1]], names[ran[-1] + 1])] if ran and ran[-1] < len(names) - 1 else []
    return begins + ends


def _link(query: FunctionQuery, part: str, pairs: Sequence[Between]) -> list[str]:
    everywhere = replace(query.slice_, releases=())
    return [query.part_link(part, everywhere, base_release=base, head_release=head) for base, head in pairs]


def build_step(query: FunctionQuery, params: QueryDict) -> Context:
    """Returns whether the function changed between two releases."""
    base, head = _read_sides(params)
    step = select_step(query.slice_, query.func, base, head, measure=query.measure)
    is_other = step.func is not None and step.func.id != query.func.id
    sides = urlencode([("base_release", base), ("head_release", head), ("measure", query.measure)])
    compared = replace(query.slice_, releases=(), as_stored=step.as_stored)
    return {
        "step": step,
        "difference": step.difference,
        "other": step.func if is_other else None,
        "compare_query": "&".join(part for part in (compared.query(), sides) if part),
    }


def build_relatives(query: FunctionQuery, params: QueryDict) -> Context:
    """Returns the functions that it may have been before, or may have become."""
    base, head = _read_sides(params)
    matches = select_relatives(query.slice_, query.func, base, head)
    others = [
        (match, match.gone if match.came.id == query.func.id else match.came, match.came.id == query.func.id)
        for match in matches
    ]
    return {
        "others": others,
        "base": base,
        "head": head,
    }


def _read_sides(params: QueryDict) -> Between:
    base, head = (read_one(params, name, "") for name in ("base_release", "head_release"))
    if not base or not head:
        raise ParamError("base_release", "base_release and head_release must name a release each.")
    return base, head
