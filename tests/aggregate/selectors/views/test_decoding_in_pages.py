"""Contributions are decoded a page at a time, and answers do not depend on the size of a page."""

from collections.abc import Sequence

import pytest

from aggregate.selectors.code.refs import find_ref
from aggregate.selectors.functions.groups import select_group_table
from aggregate.selectors.slice.slices import Slice
from aggregate.selectors.views import contributions
from aggregate.selectors.views.contributions import select_slice_views
from ingest.models import Project
from ingest.projects.creation import create_project
from profcore.sums.blobs import Contribution, decode_contribution_list
from tests.aggregate.posting import fold_all, post, rows
from tests.envelopes import make_envelope

pytestmark = pytest.mark.django_db


@pytest.fixture
def shop() -> Project:
    project, _ = create_project(slug="shop", key="KEY", origins=["*"])
    post("KEY", *(make_envelope(f"v{n}", "A B\n" * n + "A C\nD" * (n % 2), page="/cart") for n in range(1, 8)))
    fold_all()
    return project


def test_a_table_of_groups_is_the_same_and_few_views_are_decoded_at_a_time(
    shop: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def decode(blobs: Sequence[bytes]) -> list[Contribution]:
        sizes.append(len(blobs))
        return decode_contribution_list(blobs)

    monkeypatch.setattr(contributions, "decode_contribution_list", decode)
    whole = select_group_table(Slice(project_id=shop.pk), "file")
    assert max(sizes) == 7
    sizes.clear()
    monkeypatch.setattr(contributions, "DECODED_AT_ONCE", 2)
    paged = select_group_table(Slice(project_id=shop.pk), "file")
    assert max(sizes) == 2
    assert paged.functions == whole.functions
    assert [row.views for row in paged.functions] == [7]


def test_only_what_is_asked_for_of_a_contribution_is_kept(shop: Project) -> None:
    ((func_id,),) = rows("SELECT id FROM aggregate_func WHERE name = 'C'")
    ref = find_ref(shop.pk, func_id)
    whole = select_slice_views(Slice(project_id=shop.pk))
    narrow = select_slice_views(Slice(project_id=shop.pk), keep_funcs=ref.funcs)
    assert [view.total_of(ref) for view in narrow] == [view.total_of(ref) for view in whole]
    assert {tuple(view.contribution.func) for view in narrow} == {(), (func_id,)}
    assert [view.time for view in narrow] == [view.time for view in whole]
    assert all(not view.contribution.func for view in select_slice_views(Slice(project_id=shop.pk), keep_funcs=()))
