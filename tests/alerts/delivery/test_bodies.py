"""What chats and mails get, within the limits of each, though names are hostile."""

import json
import re
from typing import Any

import pytest
from pytest_django import Settings

from alerts.channels import Terms, create_channel
from alerts.delivery.bodies import write_mail, write_slack, write_teams, write_webhook
from alerts.delivery.gathering import gather_due, make_test, write_letter
from alerts.models import Channel, Message, StateChange
from profcore.alerts.states import State
from projects.models import Project
from tests.alerts.state_changes import NOON, change_state
from tests.builders import make_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def project(settings: Settings) -> Project:
    settings.ADDRESS = "https://fieldflame.example"
    made = make_project("shop", name="Shop")
    address = ["https://hooks.example/"]
    create_channel(project=made, kind="webhook", name="Team", addresses=address, terms=Terms(), now=NOON)
    return made


def find_texts(body: Any) -> list[dict[str, Any]]:
    """Returns the text objects of a body for Slack."""
    return [block["text"] for block in body["blocks"]]


def write_for_slack() -> Any:
    return json.loads(write_slack(write_letter(Message.objects.get())))


def test_slack_makes_no_links_of_names(project: Project) -> None:
    change_state(project, State.CONFIRMED, page="https://login.evil.example/<https://evil.example|Compare>")
    gather_due(NOON)
    texts = find_texts(write_for_slack())
    assert all(text["verbatim"] is True for text in texts)
    links = [link for text in texts for link in re.findall(r"<([^|>]*)\|", text["text"])]
    assert len(links) == 2
    assert all(link.startswith("https://fieldflame.example/projects/shop/") for link in links)


@pytest.mark.parametrize("page", ["&" * 400, "é" * 400, "<" * 119 + "x" * 300])
def test_slack_gets_texts_of_at_most_3000_characters_that_are_whole(project: Project, page: str) -> None:
    change_state(project, State.CONFIRMED, page=page, release="&" * 200)
    gather_due(NOON)
    texts = [text["text"] for text in find_texts(write_for_slack())]
    assert all(0 < len(text) <= 3_000 for text in texts)
    for text in texts:
        assert text.count("<") == text.count(">")
        assert not re.search(r"&(?!(amp|lt|gt);)", text)
    assert "How sure: 95 %" in texts[1]
    assert any(text.startswith("<https://") and "|Difference in the Firefox Profiler>" in text for text in texts)


def test_a_link_that_slack_would_refuse_is_left_out(project: Project) -> None:
    change_state(project, State.CONFIRMED, page="\u4e00" * 400)  # nine characters each in an address
    gather_due(NOON)
    texts = [text["text"] for text in find_texts(write_for_slack())]
    assert not any("|Compare>" in text for text in texts)
    assert any("|Difference in the Firefox Profiler>" in text for text in texts)


def test_slack_gets_at_most_50_blocks(project: Project) -> None:
    for number in range(30):
        change_state(project, State.CONFIRMED, page=f"/{number}")
    gather_due(NOON)
    body = write_for_slack()
    assert len(body["blocks"]) <= 50
    assert "20 more changes" in body["blocks"][-1]["text"]["text"]


def test_the_title_leads_with_the_last_state_of_a_subject(project: Project) -> None:
    change_state(project, State.CONFIRMED, page="/cart")
    change_state(project, State.RESOLVED, page="/cart")
    gather_due(NOON)
    assert Message.objects.get().title == "Shop: /cart is no longer slower in 1.1 (and 1 more)"


def test_the_title_leads_with_what_is_still_wrong(project: Project) -> None:
    change_state(project, State.CONFIRMED, page="/cart")
    change_state(project, State.CONFIRMED, page="/home")
    change_state(project, State.RESOLVED, page="/cart")
    gather_due(NOON)
    letter = write_letter(Message.objects.get())
    assert letter.title == "Shop: 1.1 made /home slower: +13 ms per view (and 2 more)"
    changes = [(entry.change.page, State(entry.change.state)) for entry in letter.changes]
    assert changes == [("/home", State.CONFIRMED), ("/cart", State.RESOLVED), ("/cart", State.CONFIRMED)]


def test_a_replay_without_its_changes_is_no_test(project: Project) -> None:
    change_state(project, State.CONFIRMED)
    gather_due(NOON)
    StateChange.objects.all().delete()
    letter = write_letter(Message.objects.get())
    body = json.loads(write_webhook(letter))
    assert (body["type"], body["data"]["changes"]) == ("fieldflame.states_changed", [])
    for text in (write_mail(letter), write_slack(letter).decode(), write_teams(letter).decode()):
        assert "The history of these changes was deleted." in text
        assert "test" not in text.lower()


def test_a_test_says_that_it_is_one(project: Project) -> None:
    make_test(Channel.objects.get(), NOON)
    letter = write_letter(Message.objects.get())
    assert json.loads(write_webhook(letter))["type"] == "fieldflame.test"
    for text in (write_mail(letter), write_slack(letter).decode(), write_teams(letter).decode()):
        assert "Messages of this project arrive here." in text
