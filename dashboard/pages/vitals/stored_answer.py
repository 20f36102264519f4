"""The stored answer of a job of the kind `vitals`, read back for the page."""

import gzip
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aggregate.jobs.requests import iter_result
from aggregate.models import Job
from aggregate.selectors.code.labels import label_func
from aggregate.selectors.functions.table import FunctionRow
from aggregate.selectors.vitals.forced_layout import ForcedRow, ForcedTable
from aggregate.selectors.vitals.hidden_scripts import HiddenRow
from aggregate.selectors.vitals.table import VitalsTable, WindowRow, WindowTable
from profcore.code.display_rules import Display
from profcore.stats.estimates import Figure, Interval
from profcore.stats.summaries import FuncSummary, Summary

Json = Mapping[str, Any]  # Any: JSON that this server wrote
US_PER_MS: Final = 1_000
OF_A_RULE: Final = 0  # which display rule made a row is not in the answer


def read_answer(job: Job, *, rows: int) -> VitalsTable:
    """Returns the result of a finished job, with at most `rows` rows of each window."""
    answer: Json = json.loads(gzip.decompress(b"".join(iter_result(job))))
    return VitalsTable(
        population=answer["views"],
        read=answer["read_views"],
        gone=answer["expired_views"],
        too_large=answer["too_large_views"],
        only_slow=answer["slow_views"],
        windows=[_read_window(window, rows) for window in answer["windows"]],
        forced_layout=_read_forced(answer["forced_layout"], rows),
        hidden_scripts=[_read_hidden(row) for row in answer["hidden_scripts"][:rows]],
    )


def _read_hidden(row: Json) -> HiddenRow:
    return HiddenRow(
        origin=row["origin"],
        party=row["party"],
        views=row["views"],
        least_ms=row["least_ms_per_view"],
        most_ms=row["most_ms_per_view"],
        summary=_read_estimates(row["estimates"]),
    )


def _read_window(window: Json, rows: int) -> WindowTable:
    views: int = window["views"]
    functions: Sequence[Json] = window["functions"][:rows]
    parts: Sequence[Json] = window["parts"]
    return WindowTable(
        window=window["window"],
        views=views,
        frames=window["frames"] or 0,
        length_us=_us(window["ms_per_view"] * views),
        parts_us=[_us(part["ms_per_view"] * views) for part in parts],
        summary=Summary(**window["statistics"], functions=()),
        length=_read_estimates(window["estimates"]),
        parts=[_read_estimates(part["estimates"]) for part in parts],
        rows=[WindowRow(row=_read_row(row), summary=_read_estimates(row["estimates"])) for row in functions],
        row_count=window["function_count"],
    )


def _read_forced(forced: Json, rows: int) -> ForcedTable:
    views: int = forced["views"]
    functions: Sequence[Json] = forced["functions"][:rows]
    return ForcedTable(
        views=views,
        measured_views=forced["measured_views"],
        forced_views=forced["forced_views"],
        total_us=_us(forced["ms_per_view"] * views),
        unattributed_us=_us(forced["unattributed_ms_per_view"] * views),
        summary=Summary(**forced["statistics"], functions=()),
        total=_read_estimates(forced["estimates"]),
        unattributed=_read_estimates(forced["unattributed_estimates"]),
        rows=[
            ForcedRow(
                row=_read_row({**row, "self_ms": row["forced_ms"], "hidden_ms": 0, "total_ms": row["with_calls_ms"]}),
                own_us=_us(row["own_ms"]),
                measured_us=_us(row["measured_ms"]),
                summary=_read_estimates(row["estimates"]),
            )
            for row in functions
        ],
        row_count=forced["function_count"],
    )


def _read_row(row: Json) -> FunctionRow:
    """Returns a row by its label: whether that is from a source map or from a display rule is not in the answer."""
    row_id: str = row["id"]
    made_id = None if row_id.isdecimal() else row_id
    label = label_func(row["name"], row["uri"], row["line"], row["column"])
    return FunctionRow(
        id=int(row_id) if made_id is None else row_id,
        name=row["name"],
        uri=row["uri"],
        line=row["line"],
        column=row["column"],
        self_us=_us(row["self_ms"]),
        hidden_us=_us(row["hidden_ms"]),
        total_us=_us(row["total_ms"] or 0),
        category=row["category"],
        display=None if row["label"] == label else Display(rule=OF_A_RULE, title=row["label"], row_id=made_id),
    )


def _read_estimates(estimates: Json | None) -> FuncSummary | None:
    if estimates is None:
        return None
    return FuncSummary(
        func_id=0,
        views_ran=0,
        ms_per_view=_read_figure(estimates, "ms_per_view"),
        share=None if estimates["share"] is None else _read_figure(estimates, "share"),
        p50_ms=_read_figure(estimates, "p50_ms"),
        p75_ms=_read_figure(estimates, "p75_ms"),
        p95_ms=_read_figure(estimates, "p95_ms"),
        ran=_read_figure(estimates, "views_share"),
    )


def _read_figure(estimates: Json, name: str) -> Figure:
    ci95 = estimates[f"{name}_ci95"]
    return Figure(estimates[name], None if ci95 is None else Interval(*ci95))


def _us(ms: float) -> int:
    return round(ms * US_PER_MS)
