"""Stacks of hangs get original places whichever is first, map or report, and lose them with their map."""

import pytest

from aggregate import hung_stacks
from aggregate.selectors.hangs.table import HangRow, select_hangs
from aggregate.selectors.slice.slices import Slice
from aggregate.sourcemaps.deleting import delete_release
from aggregate.sourcemaps.labelling import label_all
from ingest.hang_models import HangCount
from projects.models import Project
from tests.aggregate.sourcemaps.shop import ARROW_AT, DOUBLE_AT, SOURCE, URI, files_of, intern, upload, write_shop_map
from tests.builders import make_hang

pytestmark = pytest.mark.django_db(transaction=True)

# Both are calls within a function: beyond where it begins.
STACK = f"at {URI}:1:{ARROW_AT + 3}\n    at Array.map (<anonymous>)\n    at a ({URI}:1:{DOUBLE_AT + 2})"


@pytest.fixture
def project() -> Project:
    return Project.objects.create(slug="shop", name="Shop")


def row(project: Project) -> HangRow:
    [hang] = select_hangs(Slice(project_id=project.pk), limit=5).rows
    return hang


def places(project: Project) -> list[tuple[str, str]]:
    return [(frame.label, frame.place) for frame in row(project).frames]


MAPPED = [("(anonymous)", "list.js:2:19"), ("Array.map", ""), ("double", "list.js:1:23")]
UNMAPPED = [("(anonymous)", f"main.js:1:{ARROW_AT + 3}"), ("Array.map", ""), ("a", f"main.js:1:{DOUBLE_AT + 2}")]


@pytest.mark.parametrize("is_map_first", [True, False])
def test_calls_are_placed_whichever_comes_first(project: Project, is_map_first: bool) -> None:
    if is_map_first:
        upload(project.pk)
        label_all()
    make_hang(project, STACK)
    assert places(project) == UNMAPPED
    label_all()
    if not is_map_first:
        assert places(project) == UNMAPPED
        upload(project.pk)
        label_all()
    assert places(project) == MAPPED
    assert label_all() == 0


def test_stacks_of_other_releases_and_scripts_are_left_alone(project: Project) -> None:
    upload(project.pk)
    make_hang(project, STACK, release="2.0.0")
    make_hang(project, STACK.replace("main", "other"))
    label_all()
    assert list(HangCount.objects.values_list("originals", flat=True)) == [[None] * 3] * 2


def test_another_map_places_anew_and_a_deleted_one_no_more(project: Project) -> None:
    make_hang(project, STACK)
    upload(project.pk)
    label_all()
    moved = write_shop_map("\n" + SOURCE, line=1)
    upload(project.pk, files=files_of({"main.js": b"x" * 50, "main.js.map": moved}))
    label_all()
    assert places(project)[2] == ("double", "list.js:2:23")
    delete_release(project.pk, "1.0.0")
    assert places(project) == UNMAPPED


def test_a_function_that_traces_know_has_its_original_name(project: Project) -> None:
    double, *_ = intern(project.pk)
    upload(project.pk)
    make_hang(project, STACK.partition("<anonymous>)\n    ")[2])
    label_all()
    hang = row(project)
    assert hang.function is not None
    assert (hang.label, hang.function.place) == ("double", "list.js:1:23")
    assert hang.function.row_id != double  # that of the original, across releases


def test_only_the_newest_stacks_are_placed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hung_stacks, "MAX_STACKS", 2)
    monkeypatch.setattr(hung_stacks, "MAX_CALLS", 1)
    for page in "abc":
        make_hang(project, STACK, page=f"/{page}")
    upload(project.pk)
    label_all()
    stored = HangCount.objects.order_by("page").values_list("originals", flat=True)
    assert [sum(original is not None for original in originals or []) for originals in stored] == [1, 1, 0]
