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

from bench.lab.recording import Envelope, Side
from bench.lab.shop import RELEASES, Release
from config.up.parts import BASE_DIR
from config.up.running import RunningStack

PACKAGE: Final = BASE_DIR / "packages" / "fieldflame"
FIELD, LAB = "shop", "shop-lab"
DEVICES: Final[Mapping[Side, Sequence[str]]] = {
    "phones": ("mobile", "mobile-low", "mobile-high"),
    "desktops": ("desktop", "desktop-low", "desktop-high"),
}
POSTED_AT_ONCE: Final = 5
WHOLE: Final = ""  # a page view, among its functions
Recorded = Mapping[tuple[Side, int], Sequence[Envelope]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
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
    """All estimates of all releases; what changed and the lab did not see; and the command's line about the past."""

    foretold: Sequence[Foretold]
    missed: Sequence[str]
    agreements: Sequence[str]


def foretell(stack: RunningStack, recorded: Recorded, names: Sequence[Release] = RELEASES) -> Outcome:
    """Posts all releases in turn, and asks before each one's field views are there. `names` are the releases."""
    tokens = {slug: stack.create_project(slug) for slug in (FIELD, LAB)}
    if names is not RELEASES:
        for slug in tokens:
            stack.manage("bench", "demo-maps-here", "--project", slug)
    releases = sorted({release for _, release in recorded})
    found: list[Foretold] = []
    missed: list[str] = []
    agreements = []
    for before, release in zip([None, *releases], releases, strict=False):
        post_views(stack, LAB, recorded["lab", release])
        settle(stack, tokens)
        answer = None if before is None else ask_lab(stack, tokens, names[before].name, names[release].name)
        for side in DEVICES:
            post_views(stack, FIELD, recorded[side, release])
        settle(stack, tokens)
        if before is not None and answer is not None:
            measured = {
                side: measure(stack, tokens[FIELD], names[before].name, names[release].name, side) for side in DEVICES
            }
            found += list_foretold(answer, names[release], measured)
            named = {each["label"] for each in answer["functions"]}
            missed += [f"{names[release].name} {name}" for name in names[release].changed if name not in named]
            agreements.append(describe_whole(names[release].name, answer, measured))
    return Outcome(foretold=found, missed=missed, agreements=agreements)


def settle(stack: RunningStack, tokens: Mapping[str, str]) -> None:
    """Waits until all views are folded, and gives functions their original names."""
    stack.wait_until_folded(tokens)
    for slug in tokens:
        stack.manage("symbolicate", "--project", slug)


def post_views(stack: RunningStack, key: str, envelopes: Sequence[Envelope]) -> None:
    """Posts envelopes to a project; raises `RuntimeError` if one is refused."""
    for first in range(0, len(envelopes), POSTED_AT_ONCE):
        body = json.dumps(envelopes[first : first + POSTED_AT_ONCE]).encode()
        url = f"{stack.url}/ingest/v1/traces?key={key}"
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310  # our own
        with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310
            told = json.load(response)
        if told["rejected"]:
            raise RuntimeError(f"refused: {told['rejected'][0]}")


def ask_lab(stack: RunningStack, tokens: Mapping[str, str], base: str, release: str) -> dict[str, Any]:  # Any: JSON
    """Returns what the command foretells, as it writes it for programs."""
    with tempfile.TemporaryDirectory() as folder:
        told = Path(folder) / "lab.json"
        words = ["lab", "--project", FIELD, "--lab-project", LAB, "--base", base, "--release", release]
        known = {
            "FIELDFLAME_URL": stack.url,
            "FIELDFLAME_TOKEN": tokens[FIELD],
            "FIELDFLAME_LAB_TOKEN": tokens[LAB],
            "PYTHONPATH": str(PACKAGE),
        }
        done = subprocess.run(
            [sys.executable, "-m", "fieldflame", *words, "--json", str(told)],
            env={**os.environ, **known},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"fieldflame lab ended with {done.returncode}: {done.stdout}{done.stderr}")
        answer: dict[str, Any] = json.loads(told.read_text(encoding="utf-8"))
        return answer


def measure(stack: RunningStack, token: str, base: str, head: str, side: Side) -> dict[str, Mapping[str, Any]]:
    """Returns the field's change of each function, by its name, and of a whole page view."""
    devices = "".join(f"&device={device}" for device in DEVICES[side])
    question = f"compare?base_release={base}&head_release={head}&measure=self%2Bhidden"
    answer = stack.read(FIELD, token, f"{question}{devices}&limit=1000")
    whole = {"delta_ms_per_view": answer["overall_delta_ms_per_view"], "delta_ci95": answer["overall_delta_ci95"]}
    return {**{each["label"]: each for each in answer["functions"]}, WHOLE: whole}


def describe_whole(
    release: str, answer: Mapping[str, Any], measured: Mapping[Side, Mapping[str, Mapping[str, Any]]]
) -> str:
    """Returns a release as a whole: the estimate of all functions together, and the field's change of a page view."""
    sides = []
    for side, functions in measured.items():
        guess, there = answer["together"].get(side), functions[WHOLE]
        told = f"{guess['delta_ms_per_view']:+.0f} ({guess['ci95'][0]:.0f} to {guess['ci95'][1]:.0f})" if guess else "–"
        low, high = there["delta_ci95"] or (0.0, 0.0)
        sides.append(f"{side} {told}, measured {there['delta_ms_per_view']:+.0f} ({low:.0f} to {high:.0f})")
    whole = answer["lab_page_view_delta_ci95"]
    lab = f"lab {whole[0]:+.0f} to {whole[1]:+.0f} ms{', may have moved' if answer['may_have_moved'] else ''}"
    return f"{release}: {lab}; {'; '.join(sides)}; {json.dumps(answer['agreement'])}"


def list_foretold(
    answer: Mapping[str, Any], release: Release, measured: Mapping[Side, Mapping[str, Mapping[str, Any]]]
) -> list[Foretold]:
    """Returns the estimates of a release beside what was measured."""
    found = []
    for each in answer["functions"]:
        for side, functions in measured.items():
            guess = each["field"].get(side)
            there = functions.get(each["label"], {"delta_ms_per_view": None, "delta_ci95": None})
            found.append(
                Foretold(
                    release=release.name,
                    function=each["label"],
                    kind=release.changed.get(each["label"], ""),
                    side=side,
                    lab=(each["lab_base_ms"], each["lab_head_ms"]),
                    estimate=guess and guess["delta_ms_per_view"],
                    ci95=guess and tuple(guess["ci95"]),
                    is_own=bool(guess and guess["is_own_factor"]),
                    measured=there["delta_ms_per_view"],
                    measured_ci95=there["delta_ci95"] and tuple(there["delta_ci95"]),
                )
            )
    return found
