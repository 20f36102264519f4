"""Collection: what pages record is read by members and changed by admins, with an error at each wrong field."""

import pytest
from django.test import Client

from profcore.trace.collection import LEFT_TO_PAGES
from projects.models import Project
from tests.dashboard.pages.settings.conftest import follow, read, send, text_in

NONE = {"rate": "", "pages": "", "duration": "", "absent_rate": ""}


def test_without_settings_the_page_decides(owner: Client, shop: Project) -> None:
    text = read(owner, "collection/")
    assert "within 5 minutes" in text
    assert 'src="http://testserver/snippet/KEY-shop.js"' in text
    assert "Recording is off" not in text


def test_settings_are_saved_and_shown_again(owner: Client, shop: Project) -> None:
    sent = {
        "rate": "7",
        "pages": "/checkout/* 100\n\n/a page/:id  0.5 %",
        "duration": "2.5",
        "interactions": "on",
        "absent_rate": "0",
        "off": "on",
    }
    text = follow(owner, "collection/", **sent)
    assert "They reach pages within 5 minutes." in text
    assert "Recording is off." in text
    project = Project.objects.get(pk=shop.pk)
    assert project.collection_rate == 0.07
    assert project.collection_pages == [["/checkout/*", 1.0], ["/a page/:id", 0.005]]
    assert project.collection_duration_ms == 2_500
    assert (project.collection_interactions, project.collection_off) == (True, True)
    assert project.collection_absent_rate == 0
    page = owner.get("/projects/shop/settings/collection/").content.decode()
    assert "/checkout/* 100\n/a page/:id 0.5</textarea>" in page
    assert 'name="rate" value="7"' in page
    assert 'name="duration" value="2.5"' in page
    follow(owner, "collection/", **NONE)
    emptied = Project.objects.get(pk=shop.pk).collection
    assert emptied == LEFT_TO_PAGES


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("rate", "101", "from 0.01 to 100, or 0 for never"),
        ("rate", "0.001", "from 0.01 to 100, or 0 for never"),
        ("rate", "many", "Enter a number."),
        ("rate", "nan", "Enter a number"),
        ("absent_rate", "0.01", "from 0.1 to 100, or 0 for never"),
        ("duration", "0", "from 1 to 1800"),
        ("duration", "1e300", "from 1 to 1800"),
        ("pages", "/checkout", "Line 1: write a page, a space and a percentage"),
        ("pages", "/a 1\nshop.example/b 5", "Line 2: it must begin with / or *"),
        ("pages", "/a 101", "Line 1: the percentage must be from 0.01 to 100"),
        ("pages", "/a 1\n/a 2", "Pattern 2: it is the same as an earlier one"),
        ("pages", "\n".join(f"/{n} 1" for n in range(51)), "At most 50 patterns"),
    ],
)
def test_a_wrong_value_has_its_error_at_its_field(
    owner: Client, shop: Project, field: str, value: str, error: str
) -> None:
    response = send(owner, "collection/", **(NONE | {"off": "on", field: value}))
    assert response.status_code == 400
    assert error in text_in(response)
    part = response.content.decode().split(f'name="{field}"')[1][:2_000]
    assert 'class="errorlist"' in part
    assert Project.objects.get(pk=shop.pk).collection_off is False


def test_members_read_and_cannot_change(member: Client, shop: Project) -> None:
    assert "Only admins can change them" in read(member, "collection/")
    assert send(member, "collection/", **NONE, off="on").status_code == 403
    assert Project.objects.get(pk=shop.pk).collection_off is False
