"""`alerts`: what is watched, the open states, and the history of states. How to read an alert, too."""

from typing import Final

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from alerts.delivery.bodies import Told, encode_change
from alerts.models import AlertRule, StateChange
from alerts.questions import MEASURES, Question, read_question
from alerts.reading import Standings, Unjudged, select_history, select_open, select_standings
from alerts.rules import RELEASE_ALERT_ID, RELEASE_SLUG
from dashboard.api.alerts.access import AlertsEndpoint
from dashboard.api.core.parameters import ERRORS
from dashboard.web.params import read_count
from dashboard.web.schemas import Json, Shape, interval_field
from profcore.alerts.states import STATE_NAMES
from profcore.stats.summaries import MIN_VIEWS

MAX_OPEN: Final = 500
MAX_CHANGES: Final = 500
DEFAULT_CHANGES: Final = 50
MAX_ID: Final = 999_999_999


class AlertNameShape(Shape):
    id = serializers.IntegerField()
    kind = serializers.CharField(help_text="release, budget or new_third_parties")
    name = serializers.CharField()


class AlertStateShape(Shape):
    """A state and what was found, or a change of one."""

    id = serializers.IntegerField(
        allow_null=True, help_text="Of an open state that of its last change; null if the history has none any more."
    )
    alert = AlertNameShape(allow_null=True, help_text="As it was then; null if nobody knows that.")
    key = serializers.CharField(help_text="Of what it is about, within the alert: to accept its state.")
    state = serializers.ChoiceField(STATE_NAMES)
    was = serializers.ChoiceField(STATE_NAMES, help_text="Of an open state the same as `state`.")
    cause = serializers.ChoiceField(StateChange.Cause.values, help_text="Of an open state `look` or `day`.")
    at = serializers.DateTimeField()
    began_at = serializers.DateTimeField(allow_null=True, help_text="When it was first suspected.")
    release = serializers.CharField(allow_null=True)
    base_release = serializers.CharField(allow_null=True)
    about_release = serializers.CharField(
        allow_null=True, help_text="The newer release that ended it, or the older one that most users have again."
    )
    page = serializers.CharField(allow_null=True, help_text="Null for all pages together.")
    subject = serializers.CharField(allow_null=True)
    value = serializers.FloatField(allow_null=True, help_text="Of a release alert the change in ms per view.")
    ci95 = interval_field()
    relative = serializers.FloatField(allow_null=True)
    threshold = serializers.FloatField(allow_null=True)
    q = serializers.FloatField(allow_null=True)
    bound = serializers.FloatField(allow_null=True)
    look = serializers.IntegerField(allow_null=True)
    views = serializers.ListField(
        child=serializers.IntegerField(allow_null=True),
        min_length=2,
        max_length=2,
        help_text="Of base and head; of other releases and this one if the cause is gone, rollback or back.",
    )
    culprit = serializers.CharField(allow_null=True)
    text = serializers.CharField()
    url = serializers.CharField()
    profile_url = serializers.CharField(allow_null=True)


class QuestionShape(Shape):
    """What a budget or an alert on new third parties asks. What it does not name is null."""

    measure = serializers.CharField(help_text=f"One of {', '.join(MEASURES)}.")
    limit = serializers.FloatField(help_text="ms per view; of a share, a number up to 1.")
    page = serializers.CharField(allow_null=True, help_text="Null for all pages.")
    device = serializers.CharField(allow_null=True, help_text="A device class; null for all.")
    by = serializers.CharField(
        allow_null=True, help_text="Whose share, or whose new third parties: function, package or party."
    )
    name = serializers.CharField(allow_null=True, help_text="Of the function, package or party whose share it is.")


class UnjudgedShape(Shape):
    """Days in a row of which none could be judged, since they had too few page views."""

    since = serializers.DateField()
    until = serializers.DateField(help_text="The last one.")
    days = serializers.IntegerField()
    views = serializers.IntegerField(
        help_text="On the last day; of new third parties, in the days before if these have fewer."
    )
    least_views = serializers.IntegerField(help_text="At least so many are needed.")


class AlertShape(AlertNameShape):
    slug = serializers.CharField(allow_null=True, help_text="The name that a client chose; null if none did.")
    question = QuestionShape(allow_null=True, help_text="Null for the alert on releases.")
    is_on = serializers.BooleanField()
    state = serializers.ChoiceField(STATE_NAMES, help_text="The most urgent one of its subjects.")
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Subjects by their state.")
    evaluated_at = serializers.DateTimeField(allow_null=True, help_text="When an evaluation last went well.")
    problem = serializers.CharField(allow_null=True, help_text="Why it could not be evaluated the last time.")
    unjudged = UnjudgedShape(
        allow_null=True, help_text="Null unless a budget was never judged, or new third parties not on the last day."
    )


class AlertsShape(Shape):
    alerts = AlertShape(many=True)
    open = AlertStateShape(many=True, help_text="What is suspected or confirmed, confirmed first.")


class StateChangesShape(Shape):
    changes = AlertStateShape(many=True, help_text="The newest first.")
    next_before = serializers.IntegerField(allow_null=True, help_text="`before` of the next page; null at the end.")


class AlertsView(AlertsEndpoint):
    @extend_schema(operation_id="alerts", responses={200: AlertsShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """What is watched, and what is suspected or confirmed now."""
        found = select_open(self.project, most=MAX_OPEN)
        standings = select_standings(self.project.pk)
        return Response({"alerts": list(map(encode_standings, standings)), "open": list(map(encode_told, found))})


class StateChangesView(AlertsEndpoint):
    known_params = ("limit", "before")

    @extend_schema(
        operation_id="state_changes",
        parameters=[
            OpenApiParameter("limit", int, description=f"1 to {MAX_CHANGES}; {DEFAULT_CHANGES} by default."),
            OpenApiParameter("before", int, description="Only changes with a lower id."),
        ],
        responses={200: StateChangesShape, **ERRORS},
    )
    def get(self, request: Request, slug: str) -> Response:
        """The history of states. Each change is told to the channels under the same id."""
        params = request._request.GET
        limit = read_count(params, "limit", default=DEFAULT_CHANGES, high=MAX_CHANGES)
        before = read_count(params, "before", default=MAX_ID, high=MAX_ID)
        found = select_history(self.project, before=before, most=limit + 1)
        next_before = found[limit - 1].change.id if len(found) > limit else None
        return Response({"changes": list(map(encode_told, found[:limit])), "next_before": next_before})


def encode_told(told: Told) -> Json:
    """Returns a state or a change as webhooks have it."""
    return encode_change(told)


def encode_standings(standings: Standings) -> Json:
    """Returns an alert with its states."""
    alert = standings.alert
    return {
        "id": alert.id,
        "kind": alert.kind,
        "name": alert.name,
        "slug": RELEASE_SLUG if alert.id == RELEASE_ALERT_ID else alert.slug,
        "question": encode_question(alert),
        "is_on": alert.is_on,
        "state": standings.worst.name.lower(),
        "counts": {state.name.lower(): count for state, count in standings.counts.items()},
        "evaluated_at": alert.evaluated_at,
        "problem": alert.problem,
        "unjudged": encode_unjudged(standings.unjudged),
    }


def encode_unjudged(unjudged: Unjudged | None) -> Json | None:
    """Returns since when no day could be judged."""
    if unjudged is None:
        return None
    found = {name: getattr(unjudged, name) for name in ("since", "until", "days", "views")}
    return {**found, "least_views": MIN_VIEWS}


def encode_question(alert: AlertRule) -> Json | None:
    """Returns what an alert asks, with each field; None for the alert on releases."""
    if alert.kind == AlertRule.Kind.RELEASE:
        return None
    question = read_question(alert)
    return {name: getattr(question, name) for name in Question.__slots__}
