"""`alerts/{alert}`: one alert, created or changed by a name that the client chooses; and accepting a state."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from alerts.delivery.gathering import describe_changes
from alerts.models import AlertRule
from alerts.reading import find_standings, has_state
from alerts.rules import CHANGEABLE, accept, delete_alert, find_alert, put_alert
from dashboard.api.alerts.access import AlertsEndpoint
from dashboard.api.alerts.alerts import AlertAnswer, AlertStateAnswer
from dashboard.api.alerts.schemas import ALERT, naming_fields, read_alert
from dashboard.api.core.answer import Answer, doc, operation

KEY_CHARS: Final = 64
BODY: Final = {"application/json": ALERT}


class AcceptedAnswer(Answer):
    change: Annotated[AlertStateAnswer | None, doc("Null if nothing was suspected or confirmed any more.")]


class AlertView(AlertsEndpoint):
    def get(self, request: Request, slug: str, alert: str) -> AlertAnswer:
        """One alert, with what it asks."""
        return AlertAnswer.of(find_standings(self.find(alert)))

    @operation("put_alert", body=BODY, answers={200: AlertAnswer, 201: AlertAnswer})
    def put(self, request: Request, slug: str, alert: str) -> Response:
        """Creates an alert of this slug, or makes it what the body says. The same again changes nothing.

        With another question its states begin anew; its history stays.
        """
        return self.write(request, alert, kept={}, only=CHANGEABLE)

    @operation("change_alert", body=BODY, answers={200: AlertAnswer})
    def patch(self, request: Request, slug: str, alert: str) -> Response:
        """Changes the given fields of an alert. A question is replaced as a whole."""
        rule = self.find(alert)
        kept = {"kind": rule.kind, "name": rule.name, "question": rule.question or None, "is_on": rule.is_on}
        return self.write(request, str(rule.id), kept=kept, only=request.data)

    @operation("delete_alert")
    def delete(self, request: Request, slug: str, alert: str) -> None:
        """Deletes an alert with its states. Its history stays. The alert on releases can only be switched off."""
        with naming_fields():
            delete_alert(self.find(alert), datetime.now(UTC))

    def write(
        self, request: Request, called: str, *, kept: dict[str, Any], only: Collection[str]
    ) -> Response:  # Any: JSON
        """Makes an alert what the body says, beside what is kept."""
        body = read_alert(request.data, kept)
        try:
            with naming_fields():
                alert, is_new = put_alert(
                    project=self.project,
                    called=called,
                    kind=body.kind,
                    name=body.name,
                    question=body.question,
                    is_on=body.is_on,
                    only=only,
                    now=datetime.now(UTC),
                )
        except AlertRule.DoesNotExist:
            raise Http404("There is no such alert.") from None
        return Response(AlertAnswer.of(find_standings(alert)), status=201 if is_new else 200)

    def find(self, called: str) -> AlertRule:
        return find_or_404(self.project.pk, called)


class AcceptStateView(AlertsEndpoint):
    @operation("accept_state")
    def post(self, request: Request, slug: str, alert: str, key: str) -> AcceptedAnswer:
        """Ends a suspected or confirmed state because it is meant to be so. Channels are told."""
        rule = find_or_404(self.project.pk, alert)
        try:
            subject_key = bytes.fromhex(key[:KEY_CHARS])
        except ValueError:
            raise Http404("There is no such state.") from None
        if not has_state(rule, subject_key):
            raise Http404("There is no such state.")
        change = accept(rule, subject_key, datetime.now(UTC))
        changes = describe_changes(self.project, [change] if change is not None else [])
        return AcceptedAnswer(AlertStateAnswer.of_change(changes[0]) if changes else None)


def find_or_404(project_id: int, called: str) -> AlertRule:
    """Returns an alert of a project. Raises `Http404`."""
    alert = find_alert(project_id, called)
    if alert is None:
        raise Http404("There is no such alert.")
    return alert
