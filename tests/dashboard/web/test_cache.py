"""Tables of functions are cached until anything changes that decides them."""

from dataclasses import replace
from uuid import UUID

import pytest
from msgspec import structs

from aggregate.models import Cell
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.statistics.estimates import TableQuery, select_estimated
from dashboard.web import cache as cached
from dashboard.web.cache import answer_table, weigh_table
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db(transaction=True)

ASKED = TableQuery(limit=10, measure="self+hidden")


@pytest.fixture
def project() -> Project:
    made = make_project()
    post("KEY-shop", *(make_envelope(f"view {number}", "A\nA B\nA B") for number in range(30)))
    fold_all()
    return made


def test_a_cached_table_is_the_computed_one(project: Project) -> None:
    slice_ = Slice(project_id=project.pk)
    expected = replace(select_estimated(slice_, ASKED), row_of=None)
    assert expected.self_estimates
    first = answer_table(slice_, ASKED)
    assert answer_table(slice_, ASKED) is first
    assert first == expected


def test_a_fold_a_rule_another_slice_and_another_question_make_another_table(project: Project) -> None:
    slice_ = Slice(project_id=project.pk)
    first = answer_table(slice_, ASKED)
    assert answer_table(slice_, replace(ASKED, sort="views")) is not first
    assert answer_table(slice_.with_values("device", "unknown"), ASKED) is not first
    assert answer_table(slice_, ASKED) is first

    post("KEY-shop", make_envelope("one more", "A"))
    fold_all()
    second = answer_table(slice_, ASKED)
    assert (first.views, second.views) == (30, 31)

    Project.objects.filter(pk=project.pk).update(code_rules={"categories": [{"category": "library", "name": "A"}]})
    third = answer_table(slice_, ASKED)
    assert {row.name: row.category for row in third.functions}["A"] == "library"
    assert {row.name: row.category for row in second.functions}["A"] != "library"


def test_a_slice_that_lost_views_has_another_table(project: Project) -> None:
    slice_ = Slice(project_id=project.pk)
    assert answer_table(slice_, ASKED).views == 30
    Cell.objects.filter(project=project).update(views=29, traces=29)
    assert answer_table(slice_, ASKED).views == 29


def test_fine_slices_are_not_cached(project: Project) -> None:
    one = Slice(project_id=project.pk, views=(UUID(view_id_of("view 1")),))
    assert answer_table(one, ASKED) is not answer_table(one, ASKED)


def test_the_tables_asked_last_are_kept_within_their_bytes(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    slice_ = Slice(project_id=project.pk)
    first = answer_table(slice_, ASKED)
    size = weigh_table(first)
    monkeypatch.setattr(cached.TABLES, "most_bytes", 2 * size)
    second = answer_table(slice_, replace(ASKED, sort="views"))
    assert answer_table(slice_, ASKED) is first  # now the second one was asked longer ago
    answer_table(slice_, replace(ASKED, sort="total_ms"))
    assert answer_table(slice_, ASKED) is first
    assert answer_table(slice_, replace(ASKED, sort="views")) is not second

    monkeypatch.setattr(cached.TABLES, "most_bytes", size - 1)
    large = answer_table(slice_, replace(ASKED, sort="hidden_ms"))
    assert answer_table(slice_, replace(ASKED, sort="hidden_ms")) is not large


def test_long_texts_count_with_their_length(project: Project) -> None:
    table = answer_table(Slice(project_id=project.pk), ASKED)
    longer = replace(table, functions=[structs.replace(row, name="n" * 50_000) for row in table.functions])
    assert weigh_table(longer) > weigh_table(table) + 2 * 4 * 49_000
