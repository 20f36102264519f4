"""`fieldflame lab` for each release of the shop, before its field views exist, and what the field then measured.

The command runs in a process of its own, as in a build. The field's views of a release are posted after it.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ops.supervisor.running import RunningStack
from ops.supervisor.services import BASE_DIR
from tests.packages.lab.recording import Envelope, Side
from tests.packages.lab.shop import RELEASES, Release

PACKAGE: Final = BASE_DIR / "packages" / "fieldflame"
FIELD, LAB = "shop", "shop-lab"
DEVICES: Final[Mapping[Side, Sequence[str]]] = {
    "phones": ("mobile", "mobile-low", "mobile-high"),
    "desktops": ("desktop", "desktop-low", "desktop-high"),
}
POSTED_AT_ONCE: Final = 5
Recorded = Mapping[tuple[Side, int], Sequence[Envelope]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One function that changed in the lab, on one kind of device: the estimate and the field's change, ms per view.

    `kind` is what changed in the source, "" if nothing did. Without an estimate the field did not know the function,
    without a measured change it did not run there in either release.
    """

    release: str
    function: str
    kind: str
    side: Side
    lab: tuple[float, float]
    estimate: float | None
    ci95: tuple[float, float] | None
    is_own: bool
    measured: float | None
    measured_ci95: tuple[float, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All estimates of all releases, and what changed and the lab did not see."""

    predictions: Sequence[Prediction]
    missed: Sequence[str]


def predict(stack: RunningStack, recorded: Recorded) -> Outcome:
    """Posts all releases in turn, and asks before each one's field views are there."""
    tokens = {slug: stack.create_project(slug) for slug in (FIELD, LAB)}
    releases = sorted({release for _, release in recorded})
    predictions: list[Prediction] = []
    missed: list[str] = []
    for before, release in zip([None, *releases], releases, strict=False):
        post_views(stack, LAB, recorded["lab", release])
        stack.wait_until_folded(tokens)
        answer = None if before is None else ask_lab(stack, tokens, RELEASES[before].name, RELEASES[release].name)
        for side in DEVICES:
            post_views(stack, FIELD, recorded[side, release])
        stack.wait_until_folded(tokens)
        if before is not None and answer is not None:
            measured = {
                side: measure(stack, tokens[FIELD], RELEASES[before].name, RELEASES[release].name, side)
                for side in DEVICES
            }
            predictions += list_predictions(answer, RELEASES[release], measured)
            named = {function["label"] for function in answer["functions"]}
            missed += [f"{RELEASES[release].name} {name}" for name in RELEASES[release].changed if name not in named]
    return Outcome(predictions=predictions, missed=missed)


def post_views(stack: RunningStack, key: str, envelopes: Sequence[Envelope]) -> None:
    """Posts envelopes to a project; raises `RuntimeError` if one is refused."""
    for first in range(0, len(envelopes), POSTED_AT_ONCE):
        body = json.dumps(envelopes[first : first + POSTED_AT_ONCE]).encode()
        url = f"{stack.url}/ingest/v1/traces?key={key}"
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310  # our own
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
            answer = json.load(response)
        if answer["rejected"]:
            raise RuntimeError(f"refused: {answer['rejected'][0]}")


def ask_lab(stack: RunningStack, tokens: Mapping[str, str], base: str, release: str) -> dict[str, Any]:  # Any: JSON
    """Returns what the command predicts, as it writes it for programs."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lab.json"
        arguments = ["lab", "--project", FIELD, "--lab-project", LAB, "--base", base, "--release", release]
        known = {
            "FIELDFLAME_URL": stack.url,
            "FIELDFLAME_TOKEN": tokens[FIELD],
            "FIELDFLAME_LAB_TOKEN": tokens[LAB],
            "PYTHONPATH": str(PACKAGE),
        }
        done = subprocess.run(
            [sys.executable, "-m", "fieldflame", *arguments, "--json", str(path)],
            env={**os.environ, **known},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"fieldflame lab ended with {done.returncode}: {done.stdout}{done.stderr}")
        answer: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return answer


def measure(stack: RunningStack, token: str, base: str, head: str, side: Side) -> dict[str, Mapping[str, Any]]:
    """Returns the field's change of each function, by its name."""
    devices = "".join(f"&device={device}" for device in DEVICES[side])
    question = f"compare?base_release={base}&head_release={head}&measure=self%2Bhidden"
    answer = stack.read(FIELD, token, f"{question}{devices}&limit=1000")
    return {function["label"]: function for function in answer["functions"]}


def list_predictions(
    answer: Mapping[str, Any], release: Release, measured: Mapping[Side, Mapping[str, Mapping[str, Any]]]
) -> list[Prediction]:
    """Returns the estimates of a release beside what was measured."""
    predictions = []
    for function in answer["functions"]:
        for side, functions in measured.items():
            guess = function["field"].get(side)
            there = functions.get(function["label"], {"delta_ms_per_view": None, "delta_ci95": None})
            predictions.append(
                Prediction(
                    release=release.name,
                    function=function["label"],
                    kind=release.changed.get(function["label"], ""),
                    side=side,
                    lab=(function["lab_base_ms"], function["lab_head_ms"]),
                    estimate=guess and guess["delta_ms_per_view"],
                    ci95=guess and tuple(guess["ci95"]),
                    is_own=bool(guess and guess["is_own_factor"]),
                    measured=there["delta_ms_per_view"],
                    measured_ci95=there["delta_ci95"] and tuple(there["delta_ci95"]),
                )
            )
    return predictions
