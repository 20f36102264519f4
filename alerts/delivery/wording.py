"""A change of a state in words: what, where, how much, how sure, since when. Plain text, from hostile names."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import floor
from typing import Final

from alerts.models import AlertRule, StateChange
from profcore.alerts.states import State
from profcore.alerts.usage import USAGE_HOURS
from profcore.numbers import THIN, write_change, write_count, write_interval, write_ms, write_share
from profcore.times import DAY

MAX_NAME_CHARS: Final = 120  # of a page, release or function in a message: a line stays one
UNITS: Final = {"ms": write_ms, "share": write_share, "count": write_count}
# What a figure is of, and which page views are counted, by the measure of a budget.
FIGURE_WORDS: Final = {
    "time": " script and hidden time per view",
    "share": " of script and hidden time",
    "inp_script": " of script in the longest interaction of a view (75th percentile)",
    "forced_layout": " of forced layout per view",
    "hangs": " reports of pages that did not answer",
}
ENDED_WITH_ALERT: Final = (StateChange.Cause.CHANGED, StateChange.Cause.DELETED)
VIEW_WORDS: Final = {"inp_script": "page views with an interaction"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A change in words. `headline` is one sentence without a full stop."""

    headline: str
    where: str
    how_much: str
    how_sure: str
    since: str
    owners: str = ""

    def lines(self) -> list[tuple[str, str]]:
        """Returns what has a value, with its label."""
        named = (
            ("Where", self.where),
            ("How much", self.how_much),
            ("How sure", self.how_sure),
            ("Since", self.since),
            ("Owners", self.owners),
        )
        return [(label, text) for label, text in named if text]


def say_change(alert: AlertRule | None, change: StateChange, owners: Sequence[str] = ()) -> Said:
    """Returns a change in words. `alert` is as it was then; None if it was deleted and that is unknown."""
    return Said(
        headline=_plain(_headline(alert, change)),
        where=_plain(_where(alert, change)),
        how_much=_plain(_how_much(alert, change)),
        how_sure=_plain(_how_sure(alert, change)),
        since=_since(change),
        owners=clean(", ".join(owners)),
    )


def _plain(text: str) -> str:
    """Returns a text with usual spaces: not every mail program and chat knows narrow ones."""
    return text.replace(THIN, " ")


def write_title(project_name: str, said: Sequence[Said]) -> str:
    """Returns the title of a message about some changes: the first, and how many more there are."""
    more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
    return f"{clean(project_name)}: {said[0].headline}{more}"


def _headline(alert: AlertRule | None, change: StateChange) -> str:
    if change.base_release:
        return _headline_of_release(alert, change)
    name = clean(alert.name) if alert else "A deleted alert"
    if change.cause in ENDED_WITH_ALERT:
        about = f"{clean(change.subject)} is " if change.subject else ""
        return f"{name}: {about}no longer evaluated, since the alert was {change.cause}"
    if alert is not None and alert.kind == AlertRule.Kind.NEW_THIRD_PARTIES:
        return f"{name}: {_headline_of_new(alert, change)}"
    about = f"{clean(change.subject)}: " if change.subject else ""
    if change.cause == StateChange.Cause.PERSON:
        return f"{name}: {about}accepted"
    phrases = {
        State.CONFIRMED: "over its limit",
        State.SUSPECTED: "may be over its limit",
        State.RESOLVED: "within its limit again",
    }
    figure = f" ({_figure(alert, change)})" if alert is not None else ""  # its question named the unit
    return f"{name}: {about}{phrases.get(State(change.state), 'within its limit')}{figure}"


def _headline_of_release(alert: AlertRule | None, change: StateChange) -> str:
    """Returns what happened to a release; first by what made the state change, then by the state."""
    release, where = clean(change.release), _name_subject(change)
    figure = f"{_figure(alert, change)} per view"
    if change.cause == StateChange.Cause.ROLLED_BACK:
        made = "had made" if State(change.was) is State.CONFIRMED else "may have made"
        return f"{release}, which {made} {where} slower, was rolled back"
    users = "users" if change.page is None else f"users of {where}"
    by_cause: dict[str, str] = {
        StateChange.Cause.GONE: f"{release} is no longer in use: {users} have {_older(change)} again",
        StateChange.Cause.BACK: f"{release} is in use again; it made {where} slower: {figure}",
        StateChange.Cause.UNWATCHED: f"{release} is no longer evaluated; it may have made {where} slower",
        StateChange.Cause.NEWER_RELEASE: f"{clean(change.about_release)} made {where} faster again after {release}",
        StateChange.Cause.PERSON: f"The slowdown of {where} in {release} was accepted",
    }
    if change.cause in by_cause:
        return by_cause[change.cause]
    is_new = bool(change.subject) and change.relative is None  # the base never ran it
    if change.party and State(change.state).is_open:
        did, sure = ("takes", "") if State(change.state) is State.CONFIRMED else ("may take", ", not certain yet")
        return f"{where} {did} longer with {release}: {figure}, likely due to {clean(change.party)}{sure}"
    if State(change.state) is State.CONFIRMED:
        return f"{release} added {where}: {figure}" if is_new else f"{release} made {where} slower: {figure}"
    if State(change.state) is State.SUSPECTED:
        did = f"may have added {where}" if is_new else f"may have made {where} slower"
        return f"{release} {did}: {figure}, not certain yet"
    if State(change.was) is State.UNKNOWN:
        return f"No slowdown of {where} found in {release}"
    return f"{where} is no longer slower in {release}"


def _name_subject(change: StateChange) -> str:
    """Returns the page or function that a release changed; of a function the page where it is largest too."""
    page = clean(change.page) if change.page is not None else "all pages together"
    return f"{clean(change.subject)} on {page}" if change.subject else page


def _headline_of_new(alert: AlertRule, change: StateChange) -> str:
    """Returns what an alert on new third parties says of a party or package; on the whole it says only what could be
    judged.
    """
    name = clean(change.subject)
    if not name:
        return "nothing new"
    if change.cause == StateChange.Cause.PERSON:
        return f"the cost of {name} was accepted"
    phrases = {
        State.CONFIRMED: "is new and costs more than the limit",
        State.SUSPECTED: "is new and may cost more than the limit",
    }
    is_first = State(change.was) is State.UNKNOWN
    within = "is new and costs no more than the limit" if is_first else "costs no more than the limit now"
    return f"{name} {phrases.get(State(change.state), within)} ({_figure(alert, change)})"


def _figure(alert: AlertRule | None, change: StateChange) -> str:
    if change.value is None:
        return "unknown"
    return write_change(change.value) if change.base_release else UNITS[unit_of(alert)](change.value)


def unit_of(alert: AlertRule | None) -> str:
    """Returns the unit of an alert: `ms`, `share` or `count`."""
    return {"share": "share", "hangs": "count"}.get(measure_of(alert), "ms")


def measure_of(alert: AlertRule | None) -> str:
    """Returns the measure of a budget, `time` for other alerts."""
    return str(alert.question.get("measure", "time")) if alert is not None else "time"


def _where(alert: AlertRule | None, change: StateChange) -> str:
    if change.base_release:
        page = f"page {clean(change.page)}" if change.page is not None else "all pages together"
        page = f"function {clean(change.subject)}, {page}" if change.subject else page
        return f"{page}, release {clean(change.release)} compared with {clean(change.base_release)}"
    question = alert.question if alert is not None else {}
    parts = [f"{name} {clean(str(question[name]))}" for name in ("page", "device") if question.get(name)]
    return ", ".join(parts) or "all pages and devices"


def _how_much(alert: AlertRule | None, change: StateChange) -> str:
    if change.value is None:
        return ""
    if change.cause == StateChange.Cause.GONE:
        others, last = f"{_share_of_others(change)} %", f"the last {USAGE_HOURS} hours"
        return f"{others} of the page views of {last} have other releases, most of them {_older(change)}"
    if change.base_release:
        sign = "+" if change.relative is not None and change.relative > 0 else ""
        part = f" ({sign}{round(100 * change.relative)} %)" if change.relative is not None else ""
        most = f"; {clean(change.culprit)} grew most" if change.culprit else ""
        is_past = change.cause in (StateChange.Cause.NEWER_RELEASE, StateChange.Cause.ROLLED_BACK)
        before = "it was " if is_past else ""
        return f"{before}{write_change(change.value)} script and hidden time per view{part}{most}"
    if alert is None:
        return ""
    write = UNITS[unit_of(alert)]
    limit = f"; the limit is {write(change.threshold)}" if change.threshold is not None else ""
    name = alert.question.get("name")
    taken = f" goes to {clean(name)}" if name else ""
    return f"{write(change.value)}{FIGURE_WORDS[measure_of(alert)]}{taken}{limit}"


def _how_sure(alert: AlertRule | None, change: StateChange) -> str:
    if change.cause in (StateChange.Cause.GONE, StateChange.Cause.ROLLED_BACK, StateChange.Cause.BACK):
        whole = change.views + (change.base_views or 0)
        return f"{change.views:,} of {whole:,} page views in the last {USAGE_HOURS} hours have {clean(change.release)}"
    views = f"{change.views:,} {VIEW_WORDS.get(measure_of(alert), 'page views')}"
    if change.base_views is not None:
        views = f"{change.base_views:,} page views before, {change.views:,} after"
    if change.low is None or change.high is None or (alert is None and not change.base_release):
        return f"from {views}"
    if unit_of(alert) == "count":
        return f"counted; {views} were recorded"
    between = write_interval(change.low, change.high)
    if unit_of(alert) == "share":
        between = f"{write_share(change.low)} to {write_share(change.high)}"
    look = f", look {change.look}" if change.look is not None else ""
    return f"95 % certain: {between}; {views}{look}"


def _older(change: StateChange) -> str:
    """Returns the release that most users have again."""
    return clean(change.about_release) or "older releases"


def _share_of_others(change: StateChange) -> int:
    """Returns how many of 100 page views have other releases, rounded down: all of them is only what is all."""
    others = change.base_views or 0
    return floor(100 * others / max(others + change.views, 1))


def _since(change: StateChange) -> str:
    """Returns when it began, and when it ended if it has. What days are judged by began and ended with a day."""
    write = write_moment if change.base_release else _write_day
    if change.began_at is None:
        return write(change.at)
    ended = "" if State(change.state).is_open else f" until {_write_end(change)}"
    return f"{write(change.began_at)}{ended}"


def _write_end(change: StateChange) -> str:
    """Returns the day that ended it, or the moment: a state can be accepted at any time."""
    return _write_day(change.at) if change.cause == StateChange.Cause.DAY else write_moment(change.at)


def _write_day(end: datetime) -> str:
    """Returns the day whose end this is, with which a change of a day is written."""
    return f"{end.astimezone(UTC) - DAY:%Y-%m-%d} UTC"


def write_moment(at: datetime) -> str:
    """Returns a moment in UTC."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def clean(text: str | None) -> str:
    """Returns a name for a line of text: without line breaks and control characters, and cut."""
    printable = "".join(char if char.isprintable() else " " for char in text or "")
    return printable if len(printable) <= MAX_NAME_CHARS else printable[: MAX_NAME_CHARS - 1] + "…"
