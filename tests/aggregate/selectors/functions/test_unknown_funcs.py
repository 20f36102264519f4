"""Functions that the fold had no room for: raw traces name them, and no table of functions has them."""

from uuid import UUID

import pytest
from pytest_django import Settings

from aggregate.selectors.code.symbols import load_symbols
from aggregate.selectors.functions.named_trees import merge_named
from aggregate.selectors.slice.slices import Slice
from projects.creation import create_project
from tests.aggregate.posting import fold_all, post
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db


def test_functions_that_the_fold_had_no_room_for_are_other_in_a_views_tree(settings: Settings) -> None:
    settings.FOLD_MAX_NEW_FUNCS = 1
    project, _ = create_project(slug="shop", key="KEY-shop", origins=["https://shop.example"])
    post("KEY-shop", make_envelope("a", "A\nA B\nC"))
    fold_all()
    slice_ = Slice(project_id=project.pk, views=(UUID(view_id_of("a")),))
    whole, tree, rows = merge_named(slice_, load_symbols(project.pk))
    assert sum(tree.self_us) == whole.time.js_us == 30_000
    assert "(other)" in {row.name for row in rows}
