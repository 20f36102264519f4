"""`bench pages`: every page of the address table is asked, with what the project has most of, and nothing stays."""

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from pytest_django import Settings

from bench.screens.pages import bench_pages, find_busiest, list_patterns
from dashboard import urls
from ingest.models import Project
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.slow(6)


@pytest.fixture
def project(db: None) -> Project:
    project = make_project("shop")
    for n in range(3):
        post("KEY-shop", make_envelope(f"cart{n}", "A\nA B", release=f"1.{n % 2}"))
    post("KEY-shop", make_envelope("list", "C\nC\nC\nC", page="/list"))
    fold_all()
    User.objects.create_superuser("root")
    return project


def test_what_is_asked_for_is_what_the_project_has_most_of(project: Project) -> None:
    busiest = find_busiest(project)
    assert (busiest.page, list(busiest.releases)) == ("/cart", ["1.1", "1.0"])
    assert busiest.arguments["view_id"] in {view_id_of(f"cart{n}") for n in range(3)}
    assert set(busiest.arguments) >= {"slug", "func_id", "view_id", "ref"}


def test_every_page_of_a_project_is_found_in_the_address_table(project: Project) -> None:
    pages = {str(pattern.pattern) for pattern in urls.urlpatterns}
    wanted = {route for route in pages if route.startswith("projects/<slug:slug>/")}
    assert {str(pattern.pattern) for pattern in list_patterns()} == wanted
    assert "projects/<slug:slug>/quality/" in wanted


def test_each_is_timed_for_three_slices_and_its_statements_are_counted(project: Project) -> None:
    results = bench_pages(project, rounds=2)
    quality = [result for result in results if result.page == "quality/"]
    assert {result.slice_word for result in quality} == {"everything", "busiest page", "busiest page, one release"}
    assert {result.statements for result in quality} == {17}
    assert all(result.sent_bytes > 1_000 and not result.note for result in quality)
    assert [result.p95_ms for result in results] == sorted((result.p95_ms for result in results), reverse=True)
    notes = {(result.page, result.note) for result in results if result.note}
    others = {each for each in notes if not each[1].startswith(("not asked", "answered 404"))}
    assert others == {("share/", "answered 302")}  # posted to; whoever opens it is sent to the list of links
    assert not Session.objects.exists()


def test_a_page_that_cannot_be_asked_is_said_to_be_missing(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    def show(request: HttpRequest, slug: str, colour: str) -> HttpResponse:
        raise AssertionError

    pattern = path("projects/<slug:slug>/paint/<str:colour>/", show, name="paint")
    monkeypatch.setattr("bench.screens.pages.list_patterns", lambda: iter([pattern]))
    notes = [result.note for result in bench_pages(project, rounds=1)]
    assert notes == ["not asked: nothing is known for colour"]


def test_a_part_is_asked_for_as_its_page_does(
    project: Project, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def show(request: HttpRequest, slug: str) -> HttpResponse:
        return HttpResponse(f'<p hx-get="/projects/{slug}/paint/red/?a=1&amp;b=2"></p>')

    def show_part(request: HttpRequest, slug: str, colour: str) -> HttpResponse:
        return HttpResponse(f"{colour} {request.GET['b']}")

    patterns = [
        path("projects/<slug:slug>/paint/", show, name="paint"),
        path("projects/<slug:slug>/paint/<str:colour>/", show_part, name="colour"),
    ]
    monkeypatch.setattr("bench.screens.pages.list_patterns", lambda: iter(patterns))
    settings.ROOT_URLCONF = (*patterns, path("", include("config.urls")))
    (part,) = [result for result in bench_pages(project, rounds=1) if "colour" in result.page]
    assert (part.note, part.sent_bytes) == ("", len("red 2"))


def test_the_command_tells_them_and_an_unknown_project_is_an_error(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("bench", "pages", project="shop", rounds=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "shop, medians of 1"
    assert any("quality/sampled/" in line and "8 statements" in line for line in lines)
    with pytest.raises(CommandError, match="--project"):
        call_command("bench", "pages", project="nowhere")
