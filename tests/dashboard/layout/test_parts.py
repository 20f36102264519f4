"""Parts of pages that htmx fetches: what they answer where a page would lead elsewhere or be an error."""

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from dashboard.web.decorators import private_part
from dashboard.web.params import ParamError

PAGE = "https://fieldflame.example/projects/shop/?release=1.0.0"


@private_part
def show_part(request: HttpRequest) -> HttpResponse:
    if "limit" in request.GET:
        raise ParamError("limit", "limit must be a whole number.")
    return HttpResponse("<p>Here it is.</p>")


def ask(path: str, user: User | AnonymousUser, *, method: str = "get", page: str = PAGE) -> HttpResponse:
    request = getattr(RequestFactory(), method)(path, headers={"HX-Request": "true", "HX-Current-URL": page})
    request.user = user
    return show_part(request)


def test_a_part_comes_to_whom_is_logged_in_and_is_kept_out_of_caches() -> None:
    answer = ask("/part", User(username="member"))
    assert answer.content == b"<p>Here it is.</p>"
    assert "private" in answer["Cache-Control"]


def test_a_part_sends_the_whole_page_to_the_login_and_back_to_its_path() -> None:
    answer = ask("/part", AnonymousUser())
    assert answer["HX-Redirect"] == "/login/?next=%2Fprojects%2Fshop%2F%3Frelease%3D1.0.0"
    assert answer.content == b""


def test_a_page_that_is_no_address_leads_to_the_login_alone() -> None:
    assert ask("/part", AnonymousUser(), page="http://[")["HX-Redirect"] == "/login/?next=%2F"


@pytest.mark.django_db
def test_a_bad_parameter_is_named_in_the_place_of_the_part() -> None:
    answer = ask("/part?limit=x", User(username="member"))
    assert answer.status_code == 200  # htmx puts nothing else in its place
    assert b"limit must be a whole number." in answer.content


def test_a_part_is_read_only() -> None:
    assert ask("/part", User(username="member"), method="post").status_code == 405
