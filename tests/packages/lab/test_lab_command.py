"""`fieldflame lab` against the real read API: a project of the lab, and one of the field."""

import json
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from fieldflame.main import main

from projects.creation import create_project
from projects.models import Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all, post
from tests.envelopes import make_envelope
from tests.packages.check.asking import answer

Run = Callable[..., int]
SLOW_MS = {"1.0.0": 2, "1.1.0": 4, "1.2.0": 8}  # of 10 ms each, per view of the lab


def post_releases(key: str, releases: tuple[str, ...], *, views: int, times: int) -> None:
    """Posts views of each release; one in three is of a phone. In the field all takes some times as long."""
    for release in releases:
        envelopes = []
        for number in range(views):
            columns = ["renderCart"] * (SLOW_MS[release] * times + number % 2) + ["steady"] * (3 * times + number % 3)
            device = {"mobile": number % 3 == 0, "cores": 8}
            envelopes.append(
                make_envelope(f"{key}-{release}-{number}", "\n".join(columns), release=release, device=device)
            )
        post(key, *envelopes)


@pytest.fixture
def projects(db: None) -> tuple[Project, Project]:
    """The field has 1.0.0 and 1.1.0, the lab 1.2.0 too: the field has not seen it."""
    field, _ = create_project(slug="shop", key="shop-key", origins=["*"])
    lab, _ = create_project(slug="shop-lab", key="lab-key", origins=["*"])
    post_releases("shop-key", ("1.0.0", "1.1.0"), views=90, times=3)
    post_releases("lab-key", ("1.0.0", "1.1.0", "1.2.0"), views=30, times=1)
    fold_all()
    return field, lab


@pytest.fixture
def run(projects: tuple[Project, Project]) -> Run:
    tokens = [create_token(project=project)[1] for project in projects]

    def call(*arguments: str) -> int:
        known = {
            "FIELDFLAME_URL": "http://testserver",
            "FIELDFLAME_TOKEN": tokens[0],
            "FIELDFLAME_LAB_TOKEN": tokens[1],
        }
        return main(
            ("lab", "--project", "shop", "--release", "1.2.0", *arguments),
            environment=known,
            transport=httpx.MockTransport(answer),
        )

    return call


LAB = ("--lab-project", "shop-lab", "--base", "1.1.0")


def test_a_change_in_the_lab_is_printed_as_what_it_would_be_in_the_field(
    run: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert run(*LAB, "--json", str(tmp_path / "json"), "--markdown", str(tmp_path / "markdown")) == 0
    out = capsys.readouterr().out
    assert "An estimate from the lab, not a measurement of users. Field times are those of release 1.1.0." in out
    assert "Function: renderCart: lab 45 ms → 85 ms. In the field that would be about +1" in out
    assert "On 1 earlier release, 1 of 1 functions that changed in the lab changed the same way in the field" in out
    report = json.loads((tmp_path / "json").read_text(encoding="utf-8"))
    (function,) = report["functions"]
    # 125 ms per view in the field, and 85 instead of 45 in the lab.
    assert function["field"]["desktops"]["delta_ms_per_view"] == pytest.approx(125 * (85 / 45 - 1), rel=0.02)
    # Foretold for 1.1.0: +52 (65 ms × 45/25); measured: +60.
    assert report["agreement"]["median_ratio"] == pytest.approx(60 / (65 * (45 / 25 - 1)), rel=0.02)
    assert (tmp_path / "markdown").read_text(encoding="utf-8").startswith("### Fieldflame: estimate from the lab")


def test_a_bound_fails_only_what_is_certain(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*LAB, "--fail-over", "50ms", "--past", "0") == 1
    assert "Result: the estimate is over 50 ms on" in capsys.readouterr().out
    assert run(*LAB, "--fail-over", "500ms", "--past", "0") == 0


def test_files_of_a_profiler_are_a_lab_too(run: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    names = []
    for ms in (12, 31):
        nodes = [{"id": 1, "callFrame": {"functionName": "renderCart", "url": "https://a/x.js"}}]
        body = {"nodes": nodes, "samples": [1, 1], "timeDeltas": [0, ms * 1_000]}
        names.append(tmp_path / f"{ms}.cpuprofile")
        names[-1].write_text(json.dumps(body), encoding="utf-8")
    assert run("--base-profile", str(names[0]), "--head-profile", str(names[1])) == 0
    out = capsys.readouterr().out
    assert "renderCart: lab 12 ms → 31 ms" in out
    assert "How well lab and field agree is not known" in out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 3, "--lab-project"),
        (("--lab-project", "shop-lab"), 3, "needs --base"),
        ((*LAB, "--fail-over", "x"), 3, "--fail-over"),
        ((*LAB, "--past", "-1"), 3, "--past"),
        ((*LAB, "--page", "/none"), 2, ""),
        (("--lab-project", "elsewhere", "--base", "1.1.0"), 5, "no project 'elsewhere'"),
    ],
)
def test_what_cannot_be_estimated_has_its_code(
    run: Run, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], code: int, message: str
) -> None:
    assert run(*arguments) == code
    assert message in capsys.readouterr().err
