"""What one answer may hold of raw traces that are folded again: call nodes, functions, and one trace's bytes."""

from uuid import UUID

import pytest
from pytest_django import Settings

from aggregate.selectors.functions.merged_slice import merge_slice
from aggregate.selectors.functions.table import select_functions
from aggregate.selectors.slice.reading import CHARS_PER_FUNC, Reading, SliceTooLarge
from aggregate.selectors.slice.slices import Slice
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.posting import fold_all, post
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def view() -> Slice:
    """One view of three functions on four call paths."""
    project, _ = create_project(slug="shop", key="KEY-shop", origins=["https://shop.example"])
    post("KEY-shop", make_envelope("a", "A\nA B\nC\nB"))
    fold_all()
    return Slice(project_id=project.pk, views=(UUID(view_id_of("a")),))


@pytest.mark.parametrize(
    ("name", "most", "message"),
    [
        ("READ_MAX_RAW_NODES", 3, "more than 3 call nodes"),
        ("READ_MAX_FUNCS", 2, "more than 2 functions"),
        ("READ_TRACE_MAX_BYTES", 100, "at most 100 of one trace"),
    ],
)
def test_a_tree_beyond_a_bound_is_refused_with_its_number(
    view: Slice, settings: Settings, name: str, most: int, message: str
) -> None:
    settings.READ_MAX_RAW_NODES, settings.READ_MAX_FUNCS = 4, 3
    assert len(merge_slice(view).tree) == 4
    setattr(settings, name, most)
    with pytest.raises(SliceTooLarge, match=message):
        merge_slice(view)
    assert len(merge_slice(view, Reading.in_pages()).tree) == 4


def test_a_table_of_traces_is_bounded_too(view: Slice, settings: Settings) -> None:
    project = Project.objects.get()
    envelope = make_envelope("b", "A", tags={"cache": "warm"})
    envelope["trace"]["frames"][0]["name"] = "f" * (2 * CHARS_PER_FUNC)
    post("KEY-shop", envelope)
    fold_all()
    settings.READ_MAX_FUNCS = 2
    with pytest.raises(SliceTooLarge, match=f"more than {2 * CHARS_PER_FUNC} characters"):
        select_functions(Slice(project_id=project.pk, tags=(("cache", "warm"),)), limit=1)
