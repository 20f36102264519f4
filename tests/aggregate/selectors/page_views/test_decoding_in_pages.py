"""Contributions are decoded a page at a time, and answers do not depend on the size of a page."""

from collections.abc import Sequence

import pytest
from pytest_django import Settings

from aggregate.selectors.code.refs import find_ref
from aggregate.selectors.functions.groups import select_group_table
from aggregate.selectors.functions.table import select_functions
from aggregate.selectors.page_views import contributions, view_rows
from aggregate.selectors.page_views.contributions import iter_slice_views, select_slice_views
from aggregate.selectors.slice.reading import Reading, SliceTooLarge
from aggregate.selectors.slice.slices import Slice
from profcore.sums.blobs import Contribution, decode_contribution_list
from projects.creation import create_project
from projects.models import Project
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
    monkeypatch.setattr(view_rows, "DECODED_AT_ONCE", 2)
    paged = select_group_table(Slice(project_id=shop.pk), "file")
    assert max(sizes) == 2
    assert paged.functions == whole.functions
    assert [row.views for row in paged.functions] == [7]
    sizes.clear()
    monkeypatch.setattr(view_rows, "DECODED_FUNCS_AT_ONCE", 1)
    assert select_group_table(Slice(project_id=shop.pk), "file").functions == whole.functions
    assert max(sizes) == 1


def test_only_what_is_asked_for_of_a_contribution_is_kept(shop: Project) -> None:
    ((func_id,),) = rows("SELECT id FROM aggregate_func WHERE name = 'C'")
    ref = find_ref(shop.pk, func_id)
    whole = select_slice_views(Slice(project_id=shop.pk))
    narrow = select_slice_views(Slice(project_id=shop.pk), keep_funcs=ref.funcs)
    assert [view.total_of(ref) for view in narrow] == [view.total_of(ref) for view in whole]
    assert {tuple(view.contribution.func) for view in narrow} == {(), (func_id,)}
    assert [view.time for view in narrow] == [view.time for view in whole]
    assert all(not view.contribution.func for view in select_slice_views(Slice(project_id=shop.pk), keep_funcs=()))


def test_a_reading_in_pages_has_all_views_whatever_the_bytes_of_a_page(shop: Project) -> None:
    slice_ = Slice(project_id=shop.pk)
    whole = [view for page in iter_slice_views(slice_, Reading.in_pages()) for view in page]
    for page_bytes in (1, 2 * max(len(body) for (body,) in rows("SELECT contribution FROM aggregate_pageview"))):
        pages = iter_slice_views(slice_, Reading.in_pages(), page_bytes=page_bytes)
        assert [view for page in pages for view in page] == whole
    assert len(whole) == 7


def test_contributions_beyond_the_bytes_of_an_answer_are_not_fetched(shop: Project, settings: Settings) -> None:
    slice_ = Slice(project_id=shop.pk, func_over=((rows("SELECT id FROM aggregate_func WHERE name = 'A'")[0][0], 0),))
    ((size,),) = rows("SELECT sum(octet_length(contribution)) FROM aggregate_pageview")
    settings.READ_MAX_CONTRIBUTION_BYTES = size
    assert select_functions(slice_, limit=1).views == 7
    settings.READ_MAX_CONTRIBUTION_BYTES = size - 1
    with pytest.raises(SliceTooLarge, match=f"more than {size - 1} bytes"):
        select_functions(slice_, limit=1)
    settings.READ_MAX_CONTRIBUTION_BYTES, settings.READ_MAX_VIEW_FUNCS = size, 2 * 7 + 2 * 4 - 1
    with pytest.raises(SliceTooLarge, match="more than 21 functions"):  # A and B in each, C and D in four of them
        select_functions(slice_, limit=1)
    settings.READ_MAX_VIEW_FUNCS = 22
    assert select_functions(slice_, limit=1).views == 7
    settings.READ_MAX_VIEW_FUNCS = 21
    grouped = select_group_table(Slice(project_id=shop.pk), "file")
    assert [row.views for row in grouped.functions] == [None]  # its sums are known without the views
