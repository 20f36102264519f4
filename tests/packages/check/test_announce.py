"""`fieldflame announce`: what it tells the server about a release, and about one that was rolled back."""

import json

import pytest

from tests.packages.check.made_server import TOKEN, URL, MadeServer


def test_announce_says_what_the_build_knows(capsys: pytest.CaptureFixture[str]) -> None:
    server = MadeServer({"releases": {"release": "1.1.0", "released_at": "2026-11-23T10:00:00Z"}})
    github = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_SHA": "9fceb02d",
        "GITHUB_SERVER_URL": "https://code.example",
        "GITHUB_REPOSITORY": "acme/shop",
        "GITHUB_RUN_ID": "7",
    }
    known = {"FIELDFLAME_URL": URL, "FIELDFLAME_TOKEN": TOKEN, **github}
    arguments = ("announce", "--project", "shop", "--release", "1.1.0", "--author", "Anna")
    assert server.run(*arguments, "--released-at", "2026-11-23T10:00:00Z", environment=known) == 0
    assert json.loads(server.requests[0].content) == {
        "release": "1.1.0",
        "commit": "9fceb02d",
        "released_at": "2026-11-23T10:00:00Z",
        "author": "Anna",
        "link": "https://code.example/acme/shop/actions/runs/7",
        "range_link": "https://code.example/acme/shop/compare/{base}...{head}",
    }
    assert len(server.requests) == 1
    assert "announced 1.1.0 (commit 9fceb02d" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("known_at", "sent"), [(None, True), ("2026-11-20T07:30:00Z", True), ("2026-11-20T05:59:00Z", False)]
)
def test_a_rollback_counts_at_once_by_the_servers_clock(known_at: str | None, sent: bool) -> None:
    """The clock of a build may be hours ahead, and what is to come does not count yet."""
    now = "2026-11-20T06:00:00Z"
    times = {"announced_at": now, "first_seen_at": now, "rolled_back_at": known_at}
    server = MadeServer({"releases": {"release": "1.1.0", **times}})
    assert server.run("announce", "--project", "shop", "--release", "1.1.0", "--rolled-back") == 0
    sent_times = [json.loads(request.content).get("rolled_back_at") for request in server.requests]
    assert sent_times == ([None, now] if sent else [None])


def test_a_rollback_is_not_announced_with_what_another_build_knows() -> None:
    now = "2026-11-20T06:00:00Z"
    times = {"announced_at": now, "first_seen_at": now, "rolled_back_at": None}
    server = MadeServer({"releases": {"release": "1.1.0", **times}})
    known = {"FIELDFLAME_URL": URL, "FIELDFLAME_TOKEN": TOKEN, "JENKINS_URL": "https://ci.example/", "GIT_COMMIT": "c0"}
    arguments = ("announce", "--project", "shop", "--release", "1.1.0", "--rolled-back")
    assert server.run(*arguments, environment=known) == 0
    sent = [json.loads(request.content) for request in server.requests]
    assert [sorted(body) for body in sent] == [["release"], ["release", "rolled_back_at"]]


@pytest.mark.parametrize(
    ("build", "commit", "link", "range_link"),
    [
        (
            {
                "GITLAB_CI": "true",
                "CI_COMMIT_SHA": "c1",
                "CI_PROJECT_URL": "https://git.example/shop",
                "CI_PIPELINE_URL": "https://git.example/shop/-/pipelines/7",
            },
            "c1",
            "https://git.example/shop/-/pipelines/7",
            "https://git.example/shop/-/compare/{base}...{head}",
        ),
        (
            {"JENKINS_URL": "https://ci.example/", "GIT_COMMIT": "c2", "BUILD_URL": "https://ci.example/job/shop/7/"},
            "c2",
            "https://ci.example/job/shop/7/",
            None,
        ),
        ({}, None, None, None),
    ],
)
def test_announce_knows_other_systems(
    build: dict[str, str], commit: str | None, link: str | None, range_link: str | None
) -> None:
    server = MadeServer({"releases": {"release": "1.1.0"}})
    known = {"FIELDFLAME_URL": URL, "FIELDFLAME_TOKEN": TOKEN, **build}
    assert server.run("announce", "--project", "shop", "--release", "1.1.0", environment=known) == 0
    sent = json.loads(server.requests[0].content)
    assert (sent.get("commit"), sent.get("link"), sent.get("range_link")) == (commit, link, range_link)
