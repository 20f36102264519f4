"""Views whose recording was cut short are marked in every answer, and their share is shown."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from projects.models import Membership
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.dashboard.pages.reading import text_of
from tests.envelopes import make_envelope, view_id_of


@pytest.fixture
def reader(client: Client, db: None) -> Client:
    """A member of a shop with four views of /cart (two truncated, one of them of two traces) and one of /list."""
    project = make_project("shop")
    post(
        "KEY-shop",
        make_envelope("whole", "A", reason="timer"),
        make_envelope("full", "A", reason="samplebufferfull"),
        make_envelope("left", "A", reason="timer"),
        make_envelope("left", "A\nB", seq=1, reason="pagehide", traceId=view_id_of("a trace")),
        make_envelope("other", "A", reason="stop"),
        make_envelope("list", "A", page="/list", reason="timer"),
    )
    fold_all()
    user = User.objects.create_user("member")
    Membership.objects.create(project=project, user=user)
    client.force_login(user)
    return client


def ask(reader: Client, address: str) -> Any:  # Any: JSON
    return reader.get("/api/v1/projects/shop/" + address).json()


@pytest.mark.parametrize(
    ("query", "source", "counts"),
    [
        ("", "cells", (5, 2, 0.4)),
        ("?page=/cart", "cells", (4, 2, 0.5)),
        ("?page=/cart&group_by=file", "cells", (4, 2, 0.5)),
        ("?page=/list", "cells", (1, 0, 0.0)),
        ("?page=/nowhere", "cells", (0, 0, None)),
        (f"?view={view_id_of('left')}&view={view_id_of('whole')}", "contributions", (2, 1, 0.5)),
        (f"?trace={view_id_of('a trace')}", "raw", (1, 1, 1.0)),
    ],
)
def test_functions_say_how_many_views_are_truncated(
    reader: Client, query: str, source: str, counts: tuple[int, int, float | None]
) -> None:
    answer = ask(reader, "functions" + query)
    assert answer["source"] == source
    assert (answer["views"], answer["truncated_views"], answer["truncated_share"]) == counts


def test_pages_and_releases_say_it_each_for_its_own(reader: Client) -> None:
    pages = {row["page"]: (row["truncated_views"], row["truncated_share"]) for row in ask(reader, "pages")["pages"]}
    assert pages == {"/cart": (2, 0.5), "/list": (0, 0.0)}
    (release,) = ask(reader, "releases")["releases"]
    assert (release["views"], release["truncated_views"], release["truncated_share"]) == (5, 2, 0.4)


def test_each_view_is_marked_and_they_are_counted(reader: Client) -> None:
    answer = ask(reader, "views?page=/cart")
    assert {row["view"] for row in answer["views"] if row["is_truncated"]} == {view_id_of("full"), view_id_of("left")}
    assert (answer["view_count"], answer["truncated_view_count"]) == (4, 2)
    assert ask(reader, "views?page=/cart&limit=1")["truncated_view_count"] == 2


def test_the_pages_show_their_share_where_there_are_any(reader: Client) -> None:
    assert "2 truncated (50.0 %)" in text_of(reader, "/projects/shop/")
    assert "2 truncated (50.0 %)" in text_of(reader, "/projects/shop/functions/?page=/cart")
    assert "truncated" not in text_of(reader, "/projects/shop/functions/?page=/list")
