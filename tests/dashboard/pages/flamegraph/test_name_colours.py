"""The colours of packages and files in the flame graph, as the style sheet has them."""

import colorsys
import math
import re
from pathlib import Path

import pytest

from tests.dashboard.pages.luminance import luminance

STATIC = Path("dashboard/static/dashboard")


@pytest.mark.parametrize("theme", [0, 1])
def test_names_colours_bear_text_differ_and_mean_no_change(theme: int) -> None:
    style = (STATIC / "layout" / "tokens.css").read_text(encoding="utf-8")
    text = re.findall(r"--flame-text: #([0-9a-f]{6})", style)[theme]
    fills = [re.findall(rf"--flame-name-{n}: #([0-9a-f]{{6}})", style)[theme] for n in range(1, 10)]
    for fill in fills:
        light, dark = sorted((luminance(text), luminance(fill)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5
        hue, _, saturation = colorsys.rgb_to_hls(*(int(fill[at : at + 2], 16) / 255 for at in (0, 2, 4)))
        assert saturation < 0.15 or not (hue < 18 / 360 or hue > 345 / 360 or 75 / 360 < hue < 175 / 360)
    pairs = [(one, other) for one in fills for other in fills if one < other]
    far = [math.dist(bytes.fromhex(one), bytes.fromhex(other)) for one, other in pairs]
    assert min(far) > 30
