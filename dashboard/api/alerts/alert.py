"""`alerts/{alert}`: one alert, created or changed by a name that the client chooses; and accepting a state."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, Final

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from alerts.delivery.gathering import put_into_words
from alerts.models import AlertRule
from alerts.reading import find_standings, has_state
from alerts.rules import CHANGEABLE, accept, delete_alert, find_alert, put_alert
from dashboard.api.alerts.access import FORBIDDEN, AlertsEndpoint
from dashboard.api.alerts.alerts import AlertShape, AlertStateShape, encode_standings, encode_told
from dashboard.api.alerts.schemas import ALERT, naming_fields, read_alert
from dashboard.api.core.encoding import ErrorShape
from dashboard.api.core.parameters import ERRORS
from dashboard.web.schemas import Shape

CALLED: Final = OpenApiParameter(
    "alert", str, OpenApiParameter.PATH, description="Its slug or id; `release` is the alert on releases."
)
KEY_CHARS: Final = 64
MISSING: Final = OpenApiResponse(ErrorShape, "There is no such project, alert or state, or you cannot read it.")
ANSWERS: Final[dict[int, Any]] = {200: AlertShape, **ERRORS, 403: FORBIDDEN, 404: MISSING}  # Any: spectacular's


class AcceptedShape(Shape):
    change = AlertStateShape(allow_null=True, help_text="Null if nothing was suspected or confirmed any more.")


class AlertView(AlertsEndpoint):
    @extend_schema(operation_id="alert", parameters=[CALLED], responses=ANSWERS)
    def get(self, request: Request, slug: str, alert: str) -> Response:
        """One alert, with what it asks."""
        return self.answer(self.find(alert))

    @extend_schema(
        operation_id="put_alert",
        parameters=[CALLED],
        request={"application/json": ALERT},
        responses={**ANSWERS, 201: AlertShape},
    )
    def put(self, request: Request, slug: str, alert: str) -> Response:
        """Creates an alert of this slug, or makes it what the body says. The same again changes nothing.

        With another question its states begin anew; its history stays.
        """
        return self.write(request, alert, kept={}, only=CHANGEABLE)

    @extend_schema(
        operation_id="change_alert", parameters=[CALLED], request={"application/json": ALERT}, responses=ANSWERS
    )
    def patch(self, request: Request, slug: str, alert: str) -> Response:
        """Changes the given fields of an alert. A question is replaced as a whole."""
        found = self.find(alert)
        question = found.question or None
        kept = {"kind": found.kind, "name": found.name, "question": question, "is_on": found.is_on}
        return self.write(request, str(found.id), kept=kept, only=request.data)

    @extend_schema(
        operation_id="delete_alert",
        parameters=[CALLED],
        responses={204: OpenApiResponse(description="It is gone."), **ERRORS, 403: FORBIDDEN, 404: MISSING},
    )
    def delete(self, request: Request, slug: str, alert: str) -> Response:
        """Deletes an alert with its states. Its history stays. The alert on releases can only be switched off."""
        with naming_fields():
            delete_alert(self.find(alert), datetime.now(UTC))
        return Response(status=204)

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
        return self.answer(alert, status=201 if is_new else 200)

    def find(self, called: str) -> AlertRule:
        return find_or_404(self.project.pk, called)

    def answer(self, alert: AlertRule, *, status: int = 200) -> Response:
        return Response(encode_standings(find_standings(alert)), status=status)


class AcceptStateView(AlertsEndpoint):
    @extend_schema(
        operation_id="accept_state",
        parameters=[CALLED, OpenApiParameter("key", str, OpenApiParameter.PATH, description="`key` of the state.")],
        request=None,
        responses={200: AcceptedShape, **ERRORS, 403: FORBIDDEN, 404: MISSING},
    )
    def post(self, request: Request, slug: str, alert: str, key: str) -> Response:
        """Ends a suspected or confirmed state because it is meant to be so. Channels are told."""
        found = find_or_404(self.project.pk, alert)
        try:
            subject_key = bytes.fromhex(key[:KEY_CHARS])
        except ValueError:
            raise Http404("There is no such state.") from None
        if not has_state(found, subject_key):
            raise Http404("There is no such state.")
        change = accept(found, subject_key, datetime.now(UTC))
        told = put_into_words(self.project, [change] if change is not None else [])
        return Response({"change": encode_told(told[0]) if told else None})


def find_or_404(project_id: int, called: str) -> AlertRule:
    """Returns an alert of a project. Raises `Http404`."""
    alert = find_alert(project_id, called)
    if alert is None:
        raise Http404("There is no such alert.")
    return alert
