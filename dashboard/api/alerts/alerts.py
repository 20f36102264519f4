"""`alerts`: what is watched, the open states, and the history of states. How to read an alert, too."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Annotated, Any, Final, Self

from rest_framework.request import Request

from alerts.delivery.bodies import DescribedChange, encode_change
from alerts.models import AlertRule, StateChange
from alerts.queries import MEASURES, read_alert_query
from alerts.reading import Standings, select_history, select_open, select_standings
from alerts.rules import RELEASE_ALERT_ID, RELEASE_SLUG
from dashboard.api.alerts.access import AlertsEndpoint
from dashboard.api.core.answer import Answer, Instant, InstantText, Interval, Pair, choices, doc
from dashboard.api.core.parameters import Count, limit_of
from profcore.alerts.states import STATE_NAMES
from profcore.stats.summaries import MIN_VIEWS

MAX_OPEN: Final = 500
MAX_ID: Final = 999_999_999
LIMIT: Final = limit_of(500, 50)
BEFORE: Final = Count("before", "Only changes with a lower id.", default=MAX_ID, high=MAX_ID)
State = Annotated[str, choices(STATE_NAMES)]


class AlertNameAnswer(Answer):
    id: int
    kind: Annotated[str, doc("release, budget or new_third_parties")]
    name: str


class AlertStateAnswer(Answer):
    """A state and what was found, or a change of one."""

    id: Annotated[int | None, doc("Of an open state that of its last change; null if the history has none any more.")]
    alert: Annotated[AlertNameAnswer | None, doc("As it was then; null if it is not known.")]
    key: Annotated[str, doc("Of what it is about, within the alert: to accept its state.")]
    state: State
    was: Annotated[State, doc("Of an open state the same as `state`.")]
    cause: Annotated[Annotated[str, choices(StateChange.Cause.values)], doc("Of an open state `look` or `day`.")]
    at: InstantText
    began_at: Annotated[InstantText | None, doc("When it was first suspected.")]
    release: str | None
    base_release: str | None
    about_release: Annotated[
        str | None, doc("The newer release that ended it, or the older one that most users have again.")
    ]
    page: Annotated[str | None, doc("Null for all pages together.")]
    subject: str | None
    value: Annotated[float | None, doc("Of a release alert the change in ms per view.")]
    ci95: Interval
    relative: float | None
    threshold: float | None
    q: float | None
    bound: float | None
    look: int | None
    views: Annotated[
        Annotated[Sequence[int | None], Pair],
        doc("Of base and head; of other releases and this one if the cause is gone, rollback or back."),
    ]
    culprit: str | None
    party: Annotated[str | None, doc("The third party that did it, if likely the release did not.")]
    owners: Annotated[list[str], doc("Of the function's source, by the project's `owner_rules`.")]
    text: str
    url: str
    profile_url: str | None

    @classmethod
    def of_change(cls, change: DescribedChange) -> Self:
        """Returns a state or a change as webhooks have it."""
        return cls(**encode_change(change))


class QuestionAnswer(Answer):
    """What a budget or an alert on new third parties asks. What it does not name is null."""

    measure: Annotated[str, doc(f"One of {', '.join(MEASURES)}.")]
    limit: Annotated[float, doc("ms per view; of a share, a number up to 1; of hangs, reports a day.")]
    page: Annotated[str | None, doc("Null for all pages.")]
    device: Annotated[str | None, doc("A device class; null for all.")]
    by: Annotated[str | None, doc("Whose share, or whose new third parties: function, package or party.")]
    name: Annotated[str | None, doc("Of the function, package or party whose share it is.")]


class UnjudgedAnswer(Answer):
    """Days in a row of which none could be judged, since they had too few page views."""

    since: date
    until: Annotated[date, doc("The last one.")]
    days: int
    views: Annotated[int, doc("On the last day; of new third parties, in the days before if these have fewer.")]
    least_views: Annotated[int, doc("At least so many are needed.")]


class AlertAnswer(AlertNameAnswer):
    slug: Annotated[str | None, doc("The name that a client chose; null if none did.")]
    question: Annotated[QuestionAnswer | None, doc("Null for the alert on releases.")]
    is_on: bool
    state: Annotated[State, doc("The most urgent one of its subjects.")]
    counts: Annotated[Mapping[str, int], doc("Subjects by their state.")]
    evaluated_at: Annotated[Instant | None, doc("When an evaluation last went well.")]
    problem: Annotated[str | None, doc("Why it could not be evaluated the last time.")]
    unjudged: Annotated[
        UnjudgedAnswer | None,
        doc("Null unless a budget was never judged, or new third parties not on the last day."),
    ]

    @classmethod
    def of(cls, standings: Standings, /, **values: Any) -> Self:
        """Returns an alert with its states."""
        alert = standings.alert
        asks = alert.kind != AlertRule.Kind.RELEASE
        return super().of(
            alert,
            slug=RELEASE_SLUG if alert.id == RELEASE_ALERT_ID else alert.slug,
            question=QuestionAnswer.of(read_alert_query(alert)) if asks else None,
            state=standings.worst.name.lower(),
            counts={state.name.lower(): count for state, count in standings.counts.items()},
            unjudged=standings.unjudged and UnjudgedAnswer.of(standings.unjudged, least_views=MIN_VIEWS),
            **values,
        )


class AlertsAnswer(Answer):
    alerts: list[AlertAnswer]
    open: Annotated[list[AlertStateAnswer], doc("What is suspected or confirmed, confirmed first.")]


class StateChangesAnswer(Answer):
    changes: Annotated[list[AlertStateAnswer], doc("The newest first.")]
    next_before: Annotated[int | None, doc("`before` of the next page; null at the end.")]


class AlertsView(AlertsEndpoint):
    def get(self, request: Request, slug: str) -> AlertsAnswer:
        """What is watched, and what is suspected or confirmed now."""
        states = [AlertStateAnswer.of_change(change) for change in select_open(self.project, most=MAX_OPEN)]
        return AlertsAnswer([AlertAnswer.of(standings) for standings in select_standings(self.project.pk)], states)


class StateChangesView(AlertsEndpoint):
    known_params = (LIMIT, BEFORE)

    def get(self, request: Request, slug: str) -> StateChangesAnswer:
        """The history of states. Each change is told to the channels under the same id."""
        limit, before = LIMIT.read(request.query_params), BEFORE.read(request.query_params)
        changes = select_history(self.project, before=before, most=limit + 1)
        next_before = changes[limit - 1].change.id if len(changes) > limit else None
        return StateChangesAnswer([AlertStateAnswer.of_change(change) for change in changes[:limit]], next_before)
