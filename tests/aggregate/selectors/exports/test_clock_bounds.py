"""What one answer with views on their clocks may hold: errors name field and number, and jobs have their own bounds."""

from uuid import UUID

import pytest
from pytest_django import Settings

from aggregate.selectors.exports.timelines import select_timeline_export
from aggregate.selectors.slice.reading import CHARS_PER_FUNC, Reading, SliceTooLarge
from aggregate.selectors.slice.slices import Slice
from projects.creation import create_project
from tests.aggregate.posting import fold_all, post
from tests.envelopes import TIME_ORIGIN_MS, make_envelope, view_id_of

pytestmark = pytest.mark.django_db
# The view has two traces of three and two samples, on four call paths of three functions, and a mark with three facts.
FITS = {"SAMPLES": 5, "FACTS": 4, "FUNCS": 3}


@pytest.fixture
def view() -> Slice:
    project, _ = create_project(slug="shop", key="KEY-shop", origins=["https://shop.example"])
    mark = {"type": "loaf", "start": 4, "blocking": 1, "scripts": [{"function": "f", "duration": 2}]}
    later = {"timeOrigin": TIME_ORIGIN_MS + 1_000, "viewStart": TIME_ORIGIN_MS}
    post(
        "KEY-shop",
        make_envelope("a", "A\nA B\nC", marks=[mark]),
        make_envelope("a", "A B\nB", seq=1, **later),
    )
    fold_all()
    return Slice(project_id=project.pk, views=(UUID(view_id_of("a")),))


def fit(settings: Settings, prefix: str) -> None:
    for name, most in FITS.items():
        setattr(settings, f"{prefix}_MAX_{name}", most)


def test_a_view_at_the_bounds_is_answered(view: Slice, settings: Settings) -> None:
    fit(settings, "READ")
    settings.READ_MAX_RAW_NODES = 4
    assert len(select_timeline_export(view, project="Shop").views[0].samples) == 5


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("READ_MAX_SAMPLES", "more than 4 samples"),
        ("READ_MAX_FACTS", "more than 3 marks and facts of marks"),
        ("READ_MAX_FUNCS", "more than 2 functions"),
        ("READ_MAX_RAW_NODES", "more than 3 call nodes"),
        ("READ_TRACE_MAX_BYTES", "at most 100 of one trace"),
    ],
)
def test_beyond_a_bound_the_view_is_named_and_the_number(
    view: Slice, settings: Settings, name: str, message: str
) -> None:
    fit(settings, "READ")
    settings.READ_MAX_RAW_NODES = 4
    setattr(settings, name, int(message.partition("than ")[2].partition(" ")[0] or 100))
    with pytest.raises(SliceTooLarge, match=message) as refused:
        select_timeline_export(view, project="Shop")
    assert refused.value.field == "view"


def test_a_job_has_bounds_of_its_own(view: Slice, settings: Settings) -> None:
    settings.READ_MAX_SAMPLES = settings.READ_MAX_FACTS = settings.READ_MAX_FUNCS = settings.READ_TRACE_MAX_BYTES = 1
    reading = Reading.in_pages()
    assert len(select_timeline_export(view, project="Shop", reading=reading).views[0].samples) == 5
    for name in ("JOB_MAX_SAMPLES", "JOB_MAX_FACTS", "JOB_MAX_FUNCS", "JOB_MAX_NODES", "JOB_TRACE_MAX_BYTES"):
        known = getattr(settings, name)
        setattr(settings, name, 1)
        with pytest.raises(SliceTooLarge):
            select_timeline_export(view, project="Shop", reading=Reading.in_pages())
        setattr(settings, name, known)


def test_long_names_count_by_their_characters(view: Slice, settings: Settings) -> None:
    frame = {"name": "f" * (4 * CHARS_PER_FUNC)}
    envelope = make_envelope("a", "A", seq=2, timeOrigin=TIME_ORIGIN_MS + 2_000, viewStart=TIME_ORIGIN_MS)
    envelope["trace"]["frames"][0] |= frame
    post("KEY-shop", envelope)
    fold_all()
    settings.READ_MAX_FUNCS = 4
    with pytest.raises(SliceTooLarge, match=f"more than {4 * CHARS_PER_FUNC} characters"):
        select_timeline_export(view, project="Shop")
