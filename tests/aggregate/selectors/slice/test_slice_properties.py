"""Merging hours into days changes no answer about any slice whose bounds are days."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregate.fold.rollups import roll_up_hours
from aggregate.maintenance.merging import merge_old_hours
from aggregate.selectors.functions.breakdown import EXPRESSIONS, select_function_breakdown
from aggregate.selectors.functions.groups import select_group_table
from aggregate.selectors.functions.merged_slice import merge_slice
from aggregate.selectors.functions.table import select_functions
from aggregate.selectors.project.overview import OVERVIEW_DIMENSIONS, select_overview
from aggregate.selectors.project.pages import select_pages
from aggregate.selectors.slice.slices import Slice, SliceQuery, resolve_slice
from aggregate.selectors.statistics.comparisons import select_summary
from profcore.times import midnight_hours_before, start_of_day
from profcore.trace.dimensions import DIMENSIONS
from tests.aggregate.fresh_projects import fresh_project
from tests.aggregate.generated_traffic import NOW, Json, traffic
from tests.aggregate.posting import fold_all, post, rows
from tests.properties import bounded

pytestmark = [pytest.mark.django_db, pytest.mark.slow(6)]

OLD = midnight_hours_before(NOW, 48)
MIDNIGHT = start_of_day(NOW)
days = st.integers(-7, 1).map(lambda n: (MIDNIGHT + timedelta(days=n)).isoformat())
some_days = st.lists(days, max_size=1)


def ends_after_it_begins(query: dict[str, list[str]]) -> bool:
    return not (query["from"] and query["to"]) or query["from"][0] < query["to"][0]


queries = st.fixed_dictionaries(
    {
        "release": st.lists(st.sampled_from(("1.0.0", "2.0.0")), max_size=1),
        "page": st.lists(st.sampled_from(("/p0", "/p1")), max_size=1),
        "from": some_days,
        "to": some_days,
        **{dimension.name: st.lists(st.sampled_from(dimension.values), max_size=2) for dimension in DIMENSIONS},
    }
).filter(ends_after_it_begins)


ALL = 1_000


def answers(project_id: int, query: SliceQuery) -> dict[str, Any]:
    """Returns what the selectors say of a slice; the call tree by paths, since the order of nodes says nothing."""
    slice_ = resolve_slice(project_id, query)
    functions = select_functions(slice_, limit=ALL)
    whole = merge_slice(slice_)
    paths: list[tuple[int, ...]] = []
    for node, prefix in enumerate(whole.tree.prefix):
        paths.append((*(paths[prefix] if prefix >= 0 else ()), whole.tree.func[node]))
    tree = zip(paths, whole.tree.self_us, whole.tree.self_samples, whole.tree.hidden_us, strict=True)
    parts: dict[str, Any] = {
        "functions": functions,
        "pages": select_pages(slice_),
        "tree": sorted(tree),
        "sums": (whole.views, whole.traces, whole.time, whole.releases, whole.pages, whole.codes),
        "statistics": repr(select_summary(slice_)),
    }
    parts |= {by: select_group_table(slice_, by, limit=ALL) for by in ("file", "category")}
    for row in functions.functions[:2]:
        parts |= {f"{by} of {row.id}": select_function_breakdown(slice_, int(row.id), by) for by in EXPRESSIONS}
    return parts


@bounded(25)
@given(traffic(), st.lists(queries, min_size=1, max_size=3))
def test_rolling_hours_up_changes_no_answer(envelopes: list[Json], asked: list[SliceQuery]) -> None:
    with fresh_project() as project:
        post("shop", *envelopes)
        fold_all()
        before = [answers(project.pk, query) for query in asked]
        roll_up_hours(NOW + timedelta(hours=3))
        assert rows("SELECT count(*) > 0 FROM aggregate_dayhotspot") == rows(
            "SELECT count(*) > 0 FROM aggregate_hotspot"
        )
        assert [answers(project.pk, query) for query in asked] == before


@bounded(25)
@given(traffic(), st.lists(queries, min_size=1, max_size=3))
def test_a_merge_changes_no_answer_about_days(envelopes: list[Json], asked: list[SliceQuery]) -> None:
    with fresh_project() as project:
        post("shop", *envelopes)
        fold_all()
        old_hours = "SELECT count(*) FROM aggregate_cell WHERE grain = 0 AND traces > 0 AND starts_at < %s"
        had_old_hours = rows(old_hours, str(OLD)) != [(0,)]
        before = [answers(project.pk, query) for query in asked]
        roll_up = [select_overview(Slice(project_id=project.pk), [by], limit=1_000) for by in OVERVIEW_DIMENSIONS]
        assert (merge_old_hours(NOW) > 0) is had_old_hours
        assert rows(old_hours, str(OLD)) == [(0,)]
        assert [answers(project.pk, query) for query in asked] == before
        assert [
            select_overview(Slice(project_id=project.pk), [by], limit=1_000) for by in OVERVIEW_DIMENSIONS
        ] == roll_up
