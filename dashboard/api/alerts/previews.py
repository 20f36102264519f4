"""`POST alerts/preview`: what an alert would have told in the last 30 days, before it is created."""

from datetime import UTC, date, datetime
from typing import Annotated, Any, Final, Self

from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.jobs.requests import TooManyJobs, has_result
from alerts.budgets import Preview, preview_budget
from alerts.models import AlertRule
from alerts.new_third_parties.previews import DayUse, NewThirdPartiesPreview, preview_new_third_parties
from alerts.previews import read_preview, start_preview
from alerts.queries import TRACE_MEASURES, AlertQuery
from dashboard.api.alerts.access import AlertsEndpoint
from dashboard.api.alerts.alerts import State as StateName
from dashboard.api.alerts.schemas import PREVIEW, PREVIEW_FIELDS, read_question_of
from dashboard.api.core.answer import Answer, Interval, choices, doc, operation
from dashboard.api.jobs.endpoints import POLL_AFTER_S, RETRY_AFTER_S
from dashboard.web.params import ParamError, read_changes
from dashboard.web.project_pages import PageTraits
from profcore.alerts.states import State

MAX_FOUND: Final = 200  # of new ones: a page that makes up names has 50 each day


class PreviewDayAnswer(Answer):
    """A UTC day. Of a budget it has a value and a state; of new third parties, what was new and what was told."""

    day: date
    views: int
    use: Annotated[
        Annotated[str, choices([use.value for use in DayUse])],
        doc("too_few: too few views on it. no_history: too few in the four weeks before (new third parties)."),
    ]
    value: float | None
    ci95: Interval
    state: Annotated[StateName | None, doc("After this day; null for new third parties.")]
    days_before: Annotated[
        int | None,
        doc("New third parties: how many of the 28 days before are known, since the first views. Else null."),
    ]
    new: Annotated[int | None, doc("New third parties: how many were new on it. Else null.")]
    alerts: Annotated[int, doc("How often it would have alerted.")]


class NewThirdPartiesAnswer(Answer):
    name: str
    first_day: date
    told_days: Annotated[list[date], doc("On which it would have been told.")]
    ms_per_view: Annotated[float, doc("When it was told first; else the largest mean of a day.")]
    ci95: Interval
    state: Annotated[StateName, doc("At the end.")]


class AlertPreviewAnswer(Answer):
    alerts: Annotated[int, doc("How often it would have alerted.")]
    days: Annotated[list[PreviewDayAnswer], doc("The oldest first.")]
    found_count: Annotated[int, doc("How many were new, told or not; 0 for budgets.")]
    found: Annotated[list[NewThirdPartiesAnswer], doc(f"Of them up to {MAX_FOUND}, told ones and the costliest first.")]

    @classmethod
    def of_budget(cls, preview: Preview) -> Self:
        """Returns the preview of a budget."""
        days, was = [], State.UNKNOWN
        for day, state in preview.days:
            days.append(
                PreviewDayAnswer(
                    day=day.on,
                    views=day.views,
                    use=DayUse.JUDGED if day.is_judged else DayUse.TOO_FEW,
                    value=day.value,
                    ci95=interval_of(day.low, day.high),
                    state=state.name.lower(),
                    days_before=None,
                    new=None,
                    alerts=int(state is State.CONFIRMED and was is not state),
                )
            )
            was = state
        return cls(preview.alerts, days, 0, [])

    @classmethod
    def of_new_third_parties(cls, preview: NewThirdPartiesPreview) -> Self:
        """Returns the preview of an alert on new third parties."""
        unknown: dict[str, Any] = {"value": None, "ci95": None, "state": None}
        days = [PreviewDayAnswer.of(day, day=day.on, **unknown) for day in preview.days]
        parties = [
            NewThirdPartiesAnswer(
                name=party.name,
                first_day=party.first_on,
                told_days=party.reported_on,
                ms_per_view=party.value,
                ci95=interval_of(party.low, party.high),
                state=party.state.name.lower(),
            )
            for party in preview.parties[:MAX_FOUND]
        ]
        return cls(preview.alerts, days, len(preview.parties), parties)


def interval_of(low: float | None, high: float | None) -> list[float] | None:
    """Returns an interval, None without bounds."""
    return None if low is None or high is None else [low, high]


class PreparedAnswer(Answer):
    detail: str
    read_days: int
    total_days: Annotated[int | None, doc("Null before it has begun.")]


class AlertPreviewView(AlertsEndpoint):
    traits = PageTraits(heavy="yes")
    only_reads = True

    @operation(
        "preview_alert",
        body={"application/json": PREVIEW},
        answers={200: AlertPreviewAnswer, 202: PreparedAnswer},
        notes={202: "Of `inp_script` and `forced_layout`: it is being prepared. Send the same again."},
        errors={429: "The project has reached its limit of jobs."},
    )
    def post(self, request: Request, slug: str) -> Response:
        """What a budget or an alert on new third parties would have told in the last 30 days. Nothing is stored."""
        body = read_changes(request.data, PREVIEW_FIELDS)
        kind, now = body.get("kind"), datetime.now(UTC)
        if kind not in (AlertRule.Kind.BUDGET, AlertRule.Kind.NEW_THIRD_PARTIES):
            raise ParamError("kind", "kind must be budget or new_third_parties: other alerts have no preview.")
        terms = read_question_of(kind, body.get("question"))
        query = AlertQuery(**terms)
        if query.measure in TRACE_MEASURES:
            return self.answer_prepared(terms, now)
        if kind == AlertRule.Kind.BUDGET:
            return Response(AlertPreviewAnswer.of_budget(preview_budget(self.project.pk, query, now)))
        parties = preview_new_third_parties(self.project.pk, query, now)
        return Response(AlertPreviewAnswer.of_new_third_parties(parties))

    def answer_prepared(self, terms: dict[str, Any], now: datetime) -> Response:  # Any: JSON, as rows have it
        """Answers with the preview of today if its job is done; else says how far it is, and starts it if need be."""
        try:
            job = start_preview(self.project.pk, terms, now)
        except TooManyJobs as error:
            return Response({"detail": str(error)}, status=429, headers={"Retry-After": str(RETRY_AFTER_S)})
        if has_result(job, now):
            return Response(AlertPreviewAnswer.of_budget(read_preview(job)))
        answer = PreparedAnswer(
            "The preview is being prepared. Send the same again.", job.done_traces, job.total_traces
        )
        return Response(answer, status=202, headers={"Retry-After": str(POLL_AFTER_S)})
