"""The whole way: a lab and a field recorded in Chromium by the real snippet, folded, and asked by the command."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from fieldflame.main import main

from projects.creation import create_project
from projects.models import Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all, post
from tests.e2e.browser import find_chromium
from tests.packages.check.asking import answer
from tests.packages.lab import recording, shop
from tests.packages.lab.recording import plan_visits, record
from tests.packages.lab.shop import FIRST_ROUNDS, Release

pytestmark = [pytest.mark.nightly, pytest.mark.e2e, pytest.mark.django_db(transaction=True), pytest.mark.slow(120)]

LAB_VIEWS, FIELD_VIEWS = 21, 26  # a few more than the least that are compared
# Where others use the machine too, one visit takes several times as long as the next one: a change of a tenth shows.
RELEASES = (
    Release(name="1.5", rounds={name: rounds // 20 for name, rounds in FIRST_ROUNDS.items()} | {"formatPrices": 8_000}),
    Release(name="1.6", rounds={"formatPrices": 800}),
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for files, when both projects have their views."""
    for module in (shop, recording):
        monkeypatch.setattr(module, "RELEASES", RELEASES)
    lab_visits = plan_visits({"lab": LAB_VIEWS}, [0, 1])
    field_visits = plan_visits({"desktops": FIELD_VIEWS}, [0])
    chromium = find_chromium()
    with ThreadPoolExecutor(1) as pool:  # the other browser tests of this process have an event loop
        recorded = pool.submit(record, [*lab_visits, *field_visits], chromium=chromium, at_a_time=3).result()
    for slug in ("shop", "shop-lab"):
        create_project(slug=slug, key=slug, origins=["*"])
    for (side, _), envelopes in sorted(recorded.items(), key=lambda item: item[0][1]):
        for envelope in envelopes:
            post("shop-lab" if side == "lab" else "shop", envelope)
    fold_all()
    return tmp_path


def test_a_recorded_change_is_named_and_has_the_right_sign(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokens = [create_token(project=Project.objects.get(slug=slug))[1] for slug in ("shop", "shop-lab")]
    known = {
        "FIELDFLAME_URL": "http://testserver",
        "FIELDFLAME_TOKEN": tokens[0],
        "FIELDFLAME_LAB_TOKEN": tokens[1],
    }
    arguments = ("lab", "--project", "shop", "--lab-project", "shop-lab", "--base", "1.5", "--release", "1.6")
    code = main((*arguments, "--json", str(folder / "json")), environment=known, transport=httpx.MockTransport(answer))
    assert code == 0, capsys.readouterr()
    report = json.loads((folder / "json").read_text(encoding="utf-8"))
    assert report["field_release"] == "1.5"
    functions = {function["label"]: function for function in report["functions"]}
    assert "formatPrices" in functions
    guess = functions["formatPrices"]["field"]["desktops"]
    assert guess["is_own_factor"]
    assert guess["delta_ms_per_view"] < 0
    assert guess["ci95"][0] < guess["delta_ms_per_view"] < guess["ci95"][1]
    assert "phones" not in functions["formatPrices"]["field"]  # none were recorded
