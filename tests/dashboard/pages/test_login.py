"""Logging in and out."""

from django.test import Client

from tests.dashboard.conftest import People


def test_a_person_logs_in_and_lands_where_he_wanted(client: Client, people: People) -> None:
    wanted = "/projects/shop/functions/?page=/cart"
    login = client.get(wanted)["Location"]
    assert "Log in to see this page" in client.get(login).content.decode()
    answer = client.post(
        "/login/", {"username": "member", "password": "correct horse", "next": "/projects/shop/functions/?page=/cart"}
    )
    assert answer["Location"] == wanted
    assert client.get(wanted).status_code == 200


def test_a_wrong_password_is_refused_without_saying_which_part_is_wrong(client: Client, people: People) -> None:
    answers = [
        client.post("/login/", {"username": name, "password": "wrong"}).content.decode()
        for name in ("member", "nobody")
    ]
    for answer in answers:
        assert "Wrong user name or password." in answer


def test_next_never_leads_to_another_site(client: Client, people: People) -> None:
    answer = client.post(
        "/login/", {"username": "member", "password": "correct horse", "next": "https://evil.example/"}
    )
    assert answer["Location"] == "/projects/"


def test_who_is_logged_in_goes_on(member: Client) -> None:
    assert member.get("/login/")["Location"] == "/projects/"


def test_logging_out_takes_a_post_and_ends_the_session(member: Client) -> None:
    assert member.get("/logout/").status_code == 405
    assert member.post("/logout/")["Location"] == "/login/"
    assert member.get("/projects/").status_code == 302


def test_a_form_from_elsewhere_is_refused(people: People) -> None:
    client = Client(enforce_csrf_checks=True)
    answer = client.post("/login/", {"username": "member", "password": "correct horse"})
    assert answer.status_code == 403
    assert "was not accepted" in answer.content.decode()
