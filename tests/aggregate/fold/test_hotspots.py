"""Hotspots as pieces: few per cell, merged without a change of the sums, and read in two ways."""

from collections import Counter

import pytest

from aggregate.fold.hotspots import add_to_hotspots, clear_empty_hotspots, compact_hotspots, spots_of_funcs
from aggregate.fold.rollups import roll_up_hours
from aggregate.fold.writes import HOTSPOT_SUMS, CellDelta, negate
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.posting import fold_all, post, rows
from tests.aggregate.stored_state import assert_rollup_is_exact
from tests.builders import MONDAY, make_cell, make_func, make_project
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db

SUMS = ", ".join(f"sum({name})::bigint" for name in HOTSPOT_SUMS)
BY_FUNC = f"SELECT func_id, {SUMS} FROM aggregate_hotspot WHERE cell_id = %s GROUP BY 1 ORDER BY 1"
PIECES = "SELECT count(*) FROM aggregate_hotspotpiece WHERE cell_id = %s"


@pytest.fixture
def project() -> Project:
    return make_project()


def delta(**sums: list[int]) -> CellDelta:
    """Returns a delta of the funcs f1, f2, …, each with its sums."""
    return CellDelta(hotspots={int(name[1:]): values for name, values in sums.items()})


def test_a_cell_has_few_pieces_and_the_sums_of_all_folds(project: Project) -> None:
    cell = make_cell(project)
    expected: dict[int, Counter[int]] = {}
    for number in range(1, 40):
        values = {func: [number * func + place for place in range(8)] for func in range(number, number + 5)}
        add_to_hotspots(project.pk, [(cell.id, CellDelta(hotspots=values))])
        for func, sums in values.items():
            expected.setdefault(func, Counter()).update(dict(enumerate(sums)))
        # Each piece that stays is more than twice what is newer than it.
        assert rows(PIECES, cell.id)[0][0] <= 4 + 5
    by_func = {func: dict(enumerate(sums)) for func, *sums in rows(BY_FUNC, cell.id)}
    assert by_func == {func: dict(sums) for func, sums in expected.items()}


def test_equal_pieces_are_merged_as_soon_as_there_are_more_than_the_setting_allows(project: Project) -> None:
    cell, other = make_cell(project), make_cell(project, page="/other")
    counts = []
    for _ in range(9):
        piece = delta(f1=[1, 2, 3, 4, 0, 0, 0, 1], f2=[0] * 4 + [5, 6, 7, 0])
        add_to_hotspots(project.pk, [(cell.id, piece), (other.id, delta(f3=[1] * 8))])
        counts.append(rows(PIECES, cell.id)[0][0])
    assert counts == [1, 2, 3, 4, 1, 2, 3, 4, 1]
    assert rows(BY_FUNC, cell.id) == [(1, 9, 18, 27, 36, 0, 0, 0, 9), (2, 0, 0, 0, 0, 45, 54, 63, 0)]
    assert rows(BY_FUNC, other.id) == [(3, *[9] * 8)]


def test_arrays_of_zeros_are_not_stored(project: Project) -> None:
    cell = make_cell(project)
    for _ in range(5):
        add_to_hotspots(project.pk, [(cell.id, delta(f1=[1, 1, 1, 1, 0, 0, 0, 1]))])
        compact_hotspots(project.pk, [cell.id])
    assert rows("SELECT hidden_us, hidden_total_us, uncertain_us FROM aggregate_hotspotpiece") == [(None, None, None)]
    assert rows(BY_FUNC, cell.id) == [(1, 5, 5, 5, 5, 0, 0, 0, 5)]


def test_a_subtracted_func_stays_with_zeros_until_the_cell_is_cleared(project: Project) -> None:
    cell = make_cell(project)
    both = delta(f1=[1, 2, 3, 4, 5, 6, 7, 1], f2=[1] * 8)
    add_to_hotspots(project.pk, [(cell.id, both)])
    add_to_hotspots(project.pk, [(cell.id, negate(delta(f1=[1, 2, 3, 4, 5, 6, 7, 1])))])
    compact_hotspots(project.pk, [cell.id])
    assert rows(BY_FUNC, cell.id) == [(1, *[0] * 8), (2, *[1] * 8)]
    clear_empty_hotspots(project.pk, cell.id)
    assert rows(BY_FUNC, cell.id) == [(2, *[1] * 8)]
    add_to_hotspots(project.pk, [(cell.id, negate(delta(f2=[1] * 8)))])
    clear_empty_hotspots(project.pk, cell.id)
    assert rows(PIECES, cell.id) == [(0,)]


def test_sums_of_a_few_funcs_are_the_same_as_through_the_view(project: Project) -> None:
    cell = make_cell(project)
    add_to_hotspots(project.pk, [(cell.id, delta(f1=[1] * 8, f5=[5] * 8, f7=[0, 0, 0, 0, 0, 0, 0, 7]))])
    add_to_hotspots(project.pk, [(cell.id, delta(f5=[5, 5, 5, 5, 0, 0, 0, 5], f9=[9] * 8))])
    spots = spots_of_funcs("ARRAY[5, 7, 8]", project=str(project.pk), cell=str(cell.id), names=HOTSPOT_SUMS)
    summed = rows(f"SELECT func_id, {SUMS} FROM ({spots}) AS s GROUP BY 1 ORDER BY 1")
    assert summed == [row for row in rows(BY_FUNC, cell.id) if row[0] in (5, 7)]
    assert summed[0] == (5, 10, 10, 10, 10, 5, 5, 5, 10)


def test_pieces_of_an_hour_become_one_when_it_is_rolled_up() -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])
    for view in "abc":
        post("shop-key", make_envelope(view, "A\nA B"))
        fold_all()
    assert rows("SELECT count(*) FROM aggregate_hotspotpiece") == [(3,)]
    before = rows("SELECT func_id, sum(views), sum(self_us) FROM aggregate_hotspot GROUP BY 1 ORDER BY 1")
    roll_up_hours(MONDAY.replace(year=2100))
    assert rows("SELECT count(*) FROM aggregate_hotspotpiece") == [(1,)]
    assert rows("SELECT func_id, views, self_us FROM aggregate_hotspot ORDER BY 1") == before
    assert_rollup_is_exact()


def test_other_projects_have_the_same_cells_and_other_sums(project: Project) -> None:
    other = make_project("other")
    cells = make_cell(project), make_cell(other)
    assert cells[0].id == cells[1].id
    make_func(project, "f")
    for owner, value in ((project, 1), (other, 2)):
        for _ in range(6):
            add_to_hotspots(owner.pk, [(cells[0].id, delta(f1=[value] * 8))])
    sums = rows("SELECT project_id, sum(self_us)::int FROM aggregate_hotspot GROUP BY 1 ORDER BY 1")
    assert sums == sorted([(project.pk, 6), (other.pk, 12)])
