"""What is asked: two releases of a project, a part of its page views, and what fails a build."""

import re
from dataclasses import dataclass
from typing import Final, Literal

from fieldflame.exits import UsageError

FailOn = Literal["slower", "confirmed", "budget"]
FAIL_ON: Final[tuple[FailOn, ...]] = ("slower", "confirmed", "budget")
# What a verdict says how many views it takes to see.
FIVE_PERCENT: Final = 0.05
DURATION: Final = re.compile(r"(?:(\d{1,3})h)?(?:(\d{1,4})m)?(?:(\d{1,6})s)?")
MAX_WAIT_S: Final = 86_400
FILTERS: Final = ("page", "device", "browser", "navigation", "cache", "environment", "sdk", "capture")


@dataclass(frozen=True)
class Question:
    """A check. Without `base` the server compares with the last release before that counts and was not
    rolled back.

    `see` is the smallest change, relative, that the page views must be enough for; None: any number that can be judged.
    """

    release: str
    base: str | None = None
    filters: tuple[tuple[str, str], ...] = ()
    fail_on: tuple[FailOn, ...] = ("slower",)
    wait_s: float = 0.0
    see: float | None = None

    @property
    def asks_verdict(self) -> bool:
        """Returns whether the verdict can fail the build."""
        return "slower" in self.fail_on or "confirmed" in self.fail_on

    @property
    def waits_to_see(self) -> float:
        """The change that is worth waiting for, relative. More views than that would take tell little more."""
        return FIVE_PERCENT if self.see is None else self.see

    def sides(self, base: str | None = None) -> list[tuple[str, str]]:
        """Returns the parameters of the verdict. `base` is the one that an earlier answer chose."""
        chosen = self.base or base
        if chosen is None:
            return [("release", self.release), *self.filters]
        return [("base_release", chosen), ("head_release", self.release), *self.filters]


def read_duration(text: str) -> float:
    """Returns the seconds of `30m`, `90s` or `1h30m`, at most a day. Raises `UsageError`."""
    match = DURATION.fullmatch(text)
    if not text or match is None:
        raise UsageError(f"--wait must be a time such as 30m, 90s or 1h30m; not {text[:40]!r}.")
    hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total = hours * 3_600 + minutes * 60 + seconds
    if total > MAX_WAIT_S:
        raise UsageError("--wait must be at most 24h.")
    return float(total)


def read_percent(text: str) -> float:
    """Returns the share of `10%` or `10`: from 0.1 to 1,000 %. Raises `UsageError`."""
    try:
        share = float(text.removesuffix("%").strip()) / 100
    except ValueError:
        share = -1.0
    if not 0.001 <= share <= 10:
        raise UsageError(f"--see must be a change such as 10%; not {text[:40]!r}.")
    return share


def read_fail_on(texts: list[str]) -> tuple[FailOn, ...]:
    """Returns what fails the build; each text may have several, with commas. Raises `UsageError`."""
    choices = [choice.strip() for text in texts for choice in text.split(",")] or ["slower"]
    for choice in choices:
        if choice not in FAIL_ON:
            raise UsageError(f"--fail-on must be slower, confirmed or budget; not {choice[:40]!r}.")
    return tuple(choice for choice in FAIL_ON if choice in choices)
