"""`POST alerts/preview`: what an alert would have told in the last 30 days, before it is created."""

from datetime import UTC, datetime
from typing import Final

from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.jobs.requests import TooManyJobs, has_result
from alerts.budgets import Preview, preview_budget
from alerts.models import AlertRule
from alerts.new_third_parties.new_third_party_previews import DayUse, NewThirdPartiesPreview, preview_new_third_parties
from alerts.previews import read_preview, start_preview
from alerts.questions import Question
from dashboard.api.alerts.access import AlertsEndpoint
from dashboard.api.alerts.schemas import ASKED, ASKING_FIELDS, read_asked
from dashboard.api.core.encoding import ErrorShape
from dashboard.api.core.parameters import ERRORS
from dashboard.api.jobs.endpoints import POLL_AFTER_S, RETRY_AFTER_S
from dashboard.web.params import ParamError, read_changes
from dashboard.web.schemas import Json, Shape, interval_field
from profcore.alerts.states import STATE_NAMES, State

MAX_FOUND: Final = 200  # of new ones: a page that makes up names has 50 each day


class PreviewDayShape(Shape):
    """A UTC day. Of a budget it has a value and a state; of new third parties, what was new and what was told."""

    day = serializers.DateField()
    views = serializers.IntegerField()
    use = serializers.ChoiceField(
        [use.value for use in DayUse],
        help_text="too_few: too few views on it. no_history: too few in the four weeks before (new third parties).",
    )
    value = serializers.FloatField(allow_null=True)
    ci95 = interval_field()
    state = serializers.ChoiceField(
        STATE_NAMES, allow_null=True, help_text="After this day; null for new third parties."
    )
    days_before = serializers.IntegerField(
        allow_null=True,
        help_text="New third parties: how many of the 28 days before are known, since the first views. Else null.",
    )
    new = serializers.IntegerField(allow_null=True, help_text="New third parties: how many were new on it. Else null.")
    alerts = serializers.IntegerField(help_text="How often it would have alerted.")


class NewThirdPartiesShape(Shape):
    name = serializers.CharField()
    first_day = serializers.DateField()
    told_days = serializers.ListField(child=serializers.DateField(), help_text="On which it would have been told.")
    ms_per_view = serializers.FloatField(help_text="When it was told first; else the largest mean of a day.")
    ci95 = interval_field()
    state = serializers.ChoiceField(STATE_NAMES, help_text="At the end.")


class AlertPreviewShape(Shape):
    alerts = serializers.IntegerField(help_text="How often it would have alerted.")
    days = PreviewDayShape(many=True, help_text="The oldest first.")
    found_count = serializers.IntegerField(help_text="How many were new, told or not; 0 for budgets.")
    found = NewThirdPartiesShape(many=True, help_text=f"Of them up to {MAX_FOUND}, told ones and the costliest first.")


class PreparedShape(Shape):
    detail = serializers.CharField()
    read_days = serializers.IntegerField()
    total_days = serializers.IntegerField(allow_null=True, help_text="Null before it has begun.")


class AlertPreviewView(AlertsEndpoint):
    only_reads = True

    @extend_schema(
        operation_id="preview_alert",
        request={"application/json": ASKED},
        responses={
            200: AlertPreviewShape,
            202: OpenApiResponse(PreparedShape, "Of `inp_script`: it is being prepared. Send the same again."),
            **ERRORS,
            429: OpenApiResponse(ErrorShape, "The project has reached its limit of jobs."),
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        """What a budget or an alert on new third parties would have told in the last 30 days. Nothing is stored."""
        given = read_changes(request.data, ASKING_FIELDS)
        kind, now = given.get("kind"), datetime.now(UTC)
        if kind not in (AlertRule.Kind.BUDGET, AlertRule.Kind.NEW_THIRD_PARTIES):
            raise ParamError("kind", "kind must be budget or new_third_parties: other alerts have no preview.")
        asked = read_asked(kind, given.get("question"))
        question = Question(**asked)
        if question.measure == "inp_script":
            return self.answer_prepared(asked, now)
        if kind == AlertRule.Kind.BUDGET:
            return Response(encode_budget(preview_budget(self.project.pk, question, now)))
        return Response(encode_new_third_parties(preview_new_third_parties(self.project.pk, question, now)))

    def answer_prepared(self, asked: Json, now: datetime) -> Response:
        """Answers with the preview of today if its job is done; else says how far it is, and starts it if need be."""
        try:
            job = start_preview(self.project.pk, asked, now)
        except TooManyJobs as error:
            return Response({"detail": str(error)}, status=429, headers={"Retry-After": str(RETRY_AFTER_S)})
        if has_result(job, now):
            return Response(encode_budget(read_preview(job)))
        detail = "The preview is being prepared. Send the same again."
        found = {"detail": detail, "read_days": job.done_traces, "total_days": job.total_traces}
        return Response(found, status=202, headers={"Retry-After": str(POLL_AFTER_S)})


def encode_budget(preview: Preview) -> Json:
    """Returns the preview of a budget for JSON."""
    days: list[Json] = []
    was = State.UNKNOWN
    for day, state in preview.days:
        days.append(
            {
                "day": day.on,
                "views": day.views,
                "use": DayUse.JUDGED if day.is_judged else DayUse.TOO_FEW,
                "value": day.value,
                "ci95": None if day.low is None else [day.low, day.high],
                "state": state.name.lower(),
                "days_before": None,
                "new": None,
                "alerts": int(state is State.CONFIRMED and was is not state),
            }
        )
        was = state
    return {"alerts": preview.alerts, "days": days, "found_count": 0, "found": []}


def encode_new_third_parties(preview: NewThirdPartiesPreview) -> Json:
    """Returns the preview of an alert on new third parties for JSON."""
    days: list[Json] = [
        {
            "day": day.on,
            "views": day.views,
            "use": day.use,
            "value": None,
            "ci95": None,
            "state": None,
            "days_before": day.days_before,
            "new": day.new,
            "alerts": day.alerts,
        }
        for day in preview.days
    ]
    found: list[Json] = [
        {
            "name": each.name,
            "first_day": each.first_on,
            "told_days": each.told_on,
            "ms_per_view": each.value,
            "ci95": None if each.low is None else [each.low, each.high],
            "state": each.state.name.lower(),
        }
        for each in preview.found[:MAX_FOUND]
    ]
    return {"alerts": preview.alerts, "days": days, "found_count": len(preview.found), "found": found}
