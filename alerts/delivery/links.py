"""The links of a message: to the slice that it is about, and to the difference in the Firefox Profiler.

They lead to pages for members, so a message has no credentials in it. The dashboard is known by the names of its
addresses only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse

from aggregate.selectors.functions.table import MAX_SEARCH_CHARS
from alerts.models import AlertRule, StateChange
from alerts.queries import TRACE_MEASURES
from profcore.times import DAY, start_of_day
from projects.models import Project


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses, with this server's own where FIELDFLAME_ADDRESS names it. `profile` is empty without a difference.

    `issue` opens the form for an issue about it; empty if the project has none.
    """

    slice: str
    profile: str
    history: str
    issue: str = ""


def make_links(project: Project, alert: AlertRule | None, change: StateChange) -> Links:
    """Returns the links of a change."""
    has_difference = change.base_release and change.id is not None
    return Links(
        slice=absolute(slice_path(project, alert, change)),
        profile=absolute(reverse("alerts-profile", args=[project.slug, change.id])) if has_difference else "",
        history=absolute(reverse("alerts", args=[project.slug])),
    )


def slice_path(project: Project, alert: AlertRule | None, change: StateChange) -> str:
    """Returns the path of the page with exactly the views that a change is about."""
    if change.base_release:
        return f"{reverse('compare', args=[project.slug])}?{urlencode(sides_of(change))}"
    question = alert.question if alert is not None else {}
    pairs = [(name, question[name]) for name in ("page", "device") if question.get(name)]
    if question.get("measure") in TRACE_MEASURES:
        # Raw traces of many days take long to read, and the figures are those of this one.
        until = change.seen_at or change.at
        pairs += [("from", f"{until - DAY:%Y-%m-%dT%H:%MZ}"), ("to", f"{until:%Y-%m-%dT%H:%MZ}")]
        return f"{reverse('vitals', args=[project.slug])}?{urlencode(pairs)}"
    if question.get("measure") == "hangs":
        return f"{reverse('hangs', args=[project.slug])}?{urlencode(pairs + _pairs_of_days(change))}"
    if question.get("measure") == "share" or change.subject:
        pairs += _pairs_of_days(change) + _pairs_of_row(question, change)
        return f"{reverse('functions', args=[project.slug])}?{urlencode(pairs)}"
    if change.release:
        pairs.append(("release", change.release))
    if change.began_at is not None:
        # A change of a day is written with the day's end.
        pairs.append(("from", f"{change.began_at - DAY:%Y-%m-%dT00:00Z}"))
    return f"{reverse('overview', args=[project.slug])}?{urlencode(pairs)}"


def _pairs_of_days(change: StateChange) -> list[tuple[str, str]]:
    """Returns the days from the one with which a state began to the one that was judged last."""
    until = start_of_day(change.seen_at or change.at)  # a state can be accepted at any time
    since = (change.began_at or until) - DAY  # a change of a day is written with the day's end
    return [("from", f"{since:%Y-%m-%dT00:00Z}"), ("to", f"{until:%Y-%m-%dT00:00Z}")]


def _pairs_of_row(question: Mapping[str, str], change: StateChange) -> list[tuple[str, str]]:
    """Returns how the page Functions shows what a change names: its grouping, and a search for the name.

    A deleted alert does not say what kind of thing the name is of.
    """
    by = question.get("by")
    if by is None:
        return []
    name = (change.subject or question.get("name", ""))[:MAX_SEARCH_CHARS]  # its beginning finds it too
    return [*([("group_by", by)] if by != "function" else []), ("q", name)]


def sides_of(change: StateChange) -> list[tuple[str, str]]:
    """Returns the parameters of the two releases to compare. A newer, faster one is compared with the slow one."""
    pairs = [("base_release", change.base_release), ("head_release", change.release)]
    if change.cause == StateChange.Cause.NEWER_RELEASE and change.about_release:
        pairs = [("base_release", change.release), ("head_release", change.about_release)]
    return [*pairs, ("page", change.page)] if change.page is not None else pairs


def absolute(path: str) -> str:
    """Returns an address as browsers need it. `path` begins with this server's own, which ADDRESS may end with."""
    address = settings.ADDRESS.rstrip("/").removesuffix(settings.URL_PATH)
    if address and "://" not in address:
        address = f"{'https' if settings.HTTPS else 'http'}://{address}"
    return f"{address}{path}"
