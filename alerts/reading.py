"""What pages and the API show of alerts: states, their history, and the log of messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from django.db.models import Count, Max, QuerySet

from alerts.delivery.bodies import DescribedChange
from alerts.delivery.gathering import describe_changes
from alerts.delivery.wording import VIEW_WORDS
from alerts.models import AlertFinding, AlertRule, AlertState, Channel, Message, StateChange
from alerts.queries import AlertQuery, read_alert_query
from alerts.subjects import Subject
from profcore.alerts.states import State
from profcore.numbers import write_count, write_ms, write_share
from profcore.stats.summaries import MIN_VIEWS
from profcore.times import day_ending_at
from projects.models import Project


@dataclass(frozen=True, slots=True)
class Unjudged:
    """The last days that could not be judged, since they had too few page views; `views` are those of the last one.

    On new third parties it may be the days before that have too few: `views` are then those of the best one. A budget
    that was judged once keeps the state that it had.
    """

    since: date
    until: date
    views: int

    @property
    def days(self) -> int:
        """How many days these are."""
        return (self.until - self.since).days + 1

    def describe(self, views: str = "page views") -> str:
        """Returns what is to be said of it. `views` are the page views that count, in words."""
        since = f"since {self.since}" if self.days > 1 else f"on {self.since}"
        if self.views >= MIN_VIEWS:  # enough in all
            return f"Too few {views} of some sample rates {since}. The last day has {self.views:,} in all."
        return f"Too few {views} {since}. The last day has {self.views:,}, at least {MIN_VIEWS} are needed."


@dataclass(frozen=True, slots=True)
class Standings:
    """How many subjects of an alert have each state."""

    alert: AlertRule
    counts: Mapping[State, int]
    unjudged: Unjudged | None = None

    @property
    def worst(self) -> State:
        """The state that a list shows: the most urgent one."""
        order = (State.CONFIRMED, State.SUSPECTED, State.RESOLVED, State.OK)
        return next((state for state in order if self.counts.get(state)), State.UNKNOWN)

    @property
    def word(self) -> str:
        """The worst state in words. An alert on new third parties has states of what is new only."""
        alert = self.alert
        is_looked_at = alert.evaluated_at is not None and alert.problem is None
        if alert.kind == AlertRule.Kind.NEW_THIRD_PARTIES and is_looked_at and not self.counts:
            return "Nothing new"
        return self.worst.name.capitalize()

    @property
    def note(self) -> str:
        """Why nothing is known, if that is for too few page views. A problem is shown instead."""
        if self.unjudged is None or self.alert.problem is not None:
            return ""
        measure = self.alert.question.get("measure", "")
        return self.unjudged.describe(VIEW_WORDS.get(measure, "page views"))

    @property
    def about(self) -> str:
        """What the alert looks at, in words."""
        return describe_query(self.alert)


def describe_query(alert: AlertRule) -> str:
    """Returns what an alert looks at, in words."""
    if alert.kind == AlertRule.Kind.RELEASE:
        return "Each new release against the one before, page by page"
    query = read_alert_query(alert)
    if alert.kind == AlertRule.Kind.NEW_THIRD_PARTIES:
        what = "Packages" if query.by == "package" else "Third parties"
        return f"{what} that are new and take more than {write_ms(query.limit)} per view; {_where(query)}"
    return describe_budget(query)


def describe_budget(query: AlertQuery) -> str:
    """Returns what a budget bounds, in words."""
    where = _where(query)
    if query.measure == "share":
        about = f"{query.by} {query.name}"
        return f"At most {write_share(query.limit)} of script and hidden time for {about}; {where}"
    if query.measure == "hangs":
        return f"At most {write_count(query.limit)} reports a day of pages that did not answer; {_where(query)}"
    if query.measure == "inp_script":
        return f"At most {write_ms(query.limit)} of script in the longest interaction, 75th percentile; {where}"
    if query.measure == "forced_layout":
        return f"At most {write_ms(query.limit)} of forced layout per view; {where}"
    return f"At most {write_ms(query.limit)} script and hidden time per view; {where}"


def _where(query: AlertQuery) -> str:
    return ", ".join(part for part in (query.page, query.device) if part) or "all pages and devices"


def select_standings(project_id: int) -> list[Standings]:
    """Returns the alerts of a project with the counts of their states. Two statements, three if one is unknown."""
    counts: dict[int, dict[State, int]] = {}
    rows = AlertState.objects.filter(project_id=project_id).values("alert_id", "state").annotate(number=Count("state"))
    for row in rows.order_by("alert_id", "state"):
        counts.setdefault(row["alert_id"], {})[State(row["state"])] = row["number"]
    alerts = AlertRule.objects.filter(project_id=project_id).order_by("id")
    unjudged = (
        _select_unjudged(project_id)
        if any(State.UNKNOWN in count_of_state for count_of_state in counts.values())
        else {}
    )
    return [Standings(alert, counts.get(alert.id, {}), unjudged.get(alert.id)) for alert in alerts]


def _select_unjudged(project_id: int, **only: object) -> Mapping[int, Unjudged]:
    """Returns since when alerts could not judge a day, by their ids. One statement."""
    rows = AlertState.objects.filter(
        project_id=project_id, state=State.UNKNOWN, subject_key=Subject().key, release="", **only
    )
    return {
        row.alert_id: Unjudged(since=day_ending_at(row.since_at), until=day_ending_at(row.seen_at), views=row.views)
        for row in rows
    }


def find_standings(alert: AlertRule) -> Standings:
    """Returns one alert with the counts of its states. Two statements."""
    rows = AlertState.objects.filter(project_id=alert.project_id, alert_id=alert.id).values("state")
    counted = rows.annotate(number=Count("state")).order_by("state")
    unjudged = _select_unjudged(alert.project_id, alert_id=alert.id).get(alert.id)
    return Standings(alert, {State(row["state"]): row["number"] for row in counted}, unjudged)


def select_open(project: Project, *, most: int) -> list[DescribedChange]:
    """Returns what is suspected or confirmed, confirmed first, the newest first. Up to three statements."""
    return _describe_states(project, list(_open_states(project).order_by("-state", "-since_at", "subject_key")[:most]))


def find_open(project: Project, alert_id: int, subject_key: bytes) -> DescribedChange | None:
    """Returns one of these, None if it is not open. Up to three statements."""
    rows = _open_states(project).filter(alert_id=alert_id, subject_key=subject_key)
    return next(iter(_describe_states(project, list(rows[:1]))), None)


def _open_states(project: Project) -> QuerySet[AlertState]:
    return AlertState.objects.filter(project_id=project.pk, state__in=[state for state in State if state.is_open])


def select_history(project: Project, *, before: int | None, most: int, **only: object) -> list[DescribedChange]:
    """Returns changes of states, the newest first, of ids below `before`. Two statements."""
    rows = changes_of(project.pk).filter(**only)
    if before is not None:
        rows = rows.filter(id__lt=before)
    return describe_changes(project, list(rows.order_by("-id")[:most]))


def changes_of(project_id: int) -> QuerySet[StateChange]:
    """Returns the changes of a project."""
    return StateChange.objects.filter(project_id=project_id)


def select_channels(project_id: int) -> Sequence[Channel]:
    """Returns the channels of a project. One statement."""
    return list(Channel.objects.filter(project_id=project_id).order_by("id"))


def select_messages(project_id: int, channel_id: int, *, most: int) -> Sequence[Message]:
    """Returns the newest messages of a channel. One statement."""
    rows = Message.objects.filter(project_id=project_id, channel_id=channel_id)
    return list(rows.order_by("-created_at", "id")[:most])


def find_message(project_id: int, channel_id: int, message_id: UUID) -> Message | None:
    """Returns a message of a channel, None if it has no such message. One statement."""
    return Message.objects.filter(project_id=project_id, channel_id=channel_id, id=message_id).first()


def has_state(alert: AlertRule, subject_key: bytes) -> bool:
    """Returns whether an alert has a state of a subject. One statement."""
    states = AlertState.objects.filter(project_id=alert.project_id, alert_id=alert.id, subject_key=subject_key)
    return states.exists()


def _describe_states(project: Project, rows: Sequence[AlertState]) -> list[DescribedChange]:
    """Returns states as their last changes, with the figures of today. Two statements; without states no statement."""
    if not rows:
        return []
    keys = [row.subject_key for row in rows]
    last = changes_of(project.pk).filter(alert_id__in={row.alert_id for row in rows}, subject_key__in=keys)
    last_ids = last.values_list("alert_id", "subject_key").annotate(last=Max("id"))
    ids = {(alert_id, bytes(key)): number for alert_id, key, number in last_ids.order_by("alert_id", "subject_key")}
    return describe_changes(project, [_as_change(row, ids.get((row.alert_id, bytes(row.subject_key)))) for row in rows])


def _as_change(row: AlertState, change_id: int | None) -> StateChange:
    """Returns a state in the form of a change. It has the id of its last one, None if that was deleted."""
    names = [field.name for field in AlertFinding._meta.get_fields() if field.name not in ("id",)]
    columns = {"id": change_id, **{name: getattr(row, name) for name in names}}
    cause = StateChange.Cause.LOOK if row.base_release else StateChange.Cause.DAY
    change = StateChange(project_id=row.project_id, at=row.since_at, was=row.state, cause=cause, **columns)
    change.seen_at = row.seen_at
    return change
