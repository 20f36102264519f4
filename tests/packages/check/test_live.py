"""The command against the real read API, with views that were posted and folded."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

import httpx
import pytest
from django.utils import timezone
from fieldflame.main import main

from alerts.models import AlertRule, AlertState
from profcore.alerts.states import State
from projects.models import AnnouncedRelease, Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all
from tests.alerts.repaired import make_releases
from tests.builders import make_project
from tests.dashboard.pages.compare.lab import NEW, OLD, make_lab, post_views
from tests.packages.check.asking import answer

Run = Callable[..., int]
NOON: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def lab(db: None) -> Project:
    return make_lab(pages=("/cart", "/start"))


@pytest.fixture
def run(lab: Project) -> Run:
    """Runs the command with a token of the lab."""

    def call(*arguments: str, scopes: tuple[str, ...] = ("read",), project: str = "lab") -> int:
        _, clear = create_token(project=lab, scopes=list(scopes))
        known = {"FIELDFLAME_URL": "http://testserver", "FIELDFLAME_TOKEN": clear}
        transport = httpx.MockTransport(answer)
        return main((arguments[0], "--project", project, *arguments[1:]), environment=known, transport=transport)

    return call


def test_a_release_that_made_a_page_slower_is_found(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "--release", NEW) == 1
    out = capsys.readouterr().out
    assert f"Fieldflame, lab: {NEW} made /cart slower: +5" in out
    assert "Function: slow +50 ms per view" in out
    assert run("check", "--release", NEW, "--fail-on", "confirmed") == 1
    capsys.readouterr()
    assert run("check", "--release", NEW, "--base", OLD, "--page", "/start") == 0
    assert "No clear change" in capsys.readouterr().out


def test_a_new_release_has_too_few_views(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "--release", "1.2.0") == 2  # none at all
    assert "This release has no page views yet, or no release before it has any." in capsys.readouterr().out
    post_views("1.2.0", "/cart", 8, is_slow=True)
    fold_all()
    assert run("check", "--release", "1.2.0") == 2
    assert "at least 12 more of the release" in capsys.readouterr().out


@pytest.mark.django_db
def test_a_check_after_a_rollback_finds_that_the_repair_is_slower(capsys: pytest.CaptureFixture[str]) -> None:
    shop = make_project("shop")
    make_releases(shop, "1.1")
    _, clear = create_token(project=shop, scopes=["read"])
    known = {"FIELDFLAME_URL": "http://testserver", "FIELDFLAME_TOKEN": clear}
    arguments = ("check", "--project", "shop", "--release", "1.2")
    transport = httpx.MockTransport(answer)
    assert main(arguments, environment=known, transport=transport) == 1
    out = capsys.readouterr().out
    assert "  Compared with 1.0. Passed over: 1.1, rolled back on 2026-11-20 06:00 UTC or earlier.\n" in out
    assert main((*arguments, "--base", "1.1"), environment=known, transport=transport) == 0
    assert "  Compared with 1.1 (--base).\n" in capsys.readouterr().out


def test_a_build_announces_its_release_and_the_verdict_names_the_commits(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    place = "https://code.example/compare/{base}...{head}"
    assert run("announce", "--release", OLD, "--commit", "c1", scopes=("sourcemaps",)) == 0
    arguments = ("--release", NEW, "--commit", "c2", "--author", "Anna", "--range-link", place)
    assert run("announce", *arguments, scopes=("sourcemaps",)) == 0
    assert AnnouncedRelease.objects.get(release=NEW).author == "Anna"
    capsys.readouterr()
    assert run("check", "--release", NEW) == 1
    assert "Commits after c1 up to c2 by Anna: https://code.example/compare/c1...c2" in capsys.readouterr().out


def test_a_release_that_is_announced_again_keeps_its_time(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    def announce(*arguments: str) -> datetime | None:
        assert run("announce", "--release", NEW, *arguments, scopes=("sourcemaps",)) == 0
        return AnnouncedRelease.objects.get(release=NEW).released_at

    began_at = timezone.now() - timedelta(seconds=2)
    first_at = announce()
    assert first_at is not None
    assert began_at <= first_at <= timezone.now()
    AnnouncedRelease.objects.update(released_at=NOON)
    capsys.readouterr()
    assert announce("--commit", "c2") == NOON
    assert "(commit c2, released at 2026-11-20 12:00 UTC)" in capsys.readouterr().out
    assert announce("--released-at", "2026-11-20T13:00:00Z") == NOON + timedelta(hours=1)


def test_a_rollback_is_announced_and_the_next_announcement_takes_it_back(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    def announce(*arguments: str) -> tuple[str, AnnouncedRelease]:
        assert run("announce", "--release", NEW, *arguments, scopes=("sourcemaps",)) == 0
        return capsys.readouterr().out, AnnouncedRelease.objects.get(release=NEW)

    first = announce("--commit", "c2")[1]
    said, announced = announce("--rolled-back")
    at = announced.rolled_back_at
    assert at is not None
    assert (announced.commit, announced.released_at) == ("c2", first.released_at)
    assert f"{NEW} counts as rolled back since {at:%Y-%m-%d %H:%M} UTC. Its alarms end within minutes.\n" in said
    assert announce("--rolled-back")[1].rolled_back_at == at
    said, announced = announce("--commit", "c2")
    assert said.endswith("It had been rolled back, and counts as in use again.\n")
    assert (announced.rolled_back_at, announced.released_at) == (None, first.released_at)


def test_a_rollback_of_a_release_that_nobody_has_seen_says_so(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("announce", "--release", "1.1.O")
    assert run(*arguments, "--rolled-back", scopes=("sourcemaps",)) == 0
    assert "But no page view has this release: is its name right?" in capsys.readouterr().out
    assert run(*arguments, scopes=("sourcemaps",)) == 0
    out = capsys.readouterr().out
    assert "announced 1.1.O. It had been rolled back, and counts as in use again." in out
    assert AnnouncedRelease.objects.get(release="1.1.O").released_at is None  # nobody said when it was released


@pytest.mark.parametrize(
    ("arguments", "options", "code", "message"),
    [
        (("announce", "--release", "2"), {}, 5, "(403)"),
        (("check", "--release", NEW), {"scopes": ("sourcemaps",)}, 5, "(403)"),
        (("check", "--release", NEW), {"project": "elsewhere"}, 5, "There is no project 'elsewhere'"),
        (("check", "--release", NEW, "--device", "toaster"), {}, 3, "(400): device"),
        (("check", "--release", NEW, "--base", "0.9"), {}, 3, "No page view has release '0.9'"),
        (("announce", "--release", "2", "--link", "javascript:x"), {"scopes": ("sourcemaps",)}, 3, "(400): link: "),
    ],
)
def test_what_the_server_refuses_is_printed(
    run: Run,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    options: dict[str, object],
    code: int,
    message: str,
) -> None:
    make_project("elsewhere")
    assert run(*arguments, **options) == code
    assert message in capsys.readouterr().err


def test_a_budget_that_is_exceeded_fails_the_build(run: Run, lab: Project, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "--release", NEW, "--fail-on", "budget") == 0
    now = timezone.now()
    for number, (name, state) in enumerate((("Script on phones", State.CONFIRMED), ("Ads", State.OK)), start=1):
        question = {"measure": "time", "limit": 400.0}
        AlertRule.objects.create(
            project=lab, id=number, kind="budget", name=name, question=question, created_at=now, due_at=now
        )
        AlertState.objects.create(
            project=lab, alert_id=number, subject_key=b"key", state=state, value=412.0, since_at=now, seen_at=now
        )
    capsys.readouterr()
    assert run("check", "--release", NEW, "--fail-on", "budget") == 1
    out = capsys.readouterr().out
    assert "Budget: Script on phones: over its limit" in out
    assert "Budget: Ads: ok" in out
    assert "Result: over budget (exit code 1)." in out
