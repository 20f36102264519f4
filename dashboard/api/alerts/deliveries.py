"""`channels/{channel}/deliveries`: the log of messages of a channel, tests, and sending a message again."""

from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import Throttled
from rest_framework.request import Request
from rest_framework.response import Response

from alerts.channels import mask_addresses
from alerts.delivery.gathering import TooManyTests, make_test, replay
from alerts.models import Message
from alerts.reading import find_message, select_messages
from dashboard.api.alerts.access import AlertsEndpoint
from dashboard.api.alerts.channels import CALLED, FAILURES, find_or_404
from dashboard.api.core.encoding import ErrorShape
from dashboard.web.params import read_count
from dashboard.web.schemas import Json, Shape

MAX_DELIVERIES: Final = 500
DEFAULT_DELIVERIES: Final = 50
STATES: Final = tuple(state.name.lower() for state in Message.State)
TOO_MANY: Final = OpenApiResponse(ErrorShape, "The channel had its tests of the hour.")


class DeliveryShape(Shape):
    """A message to a channel. Its id is the same in each attempt, and is `webhook-id` of webhooks."""

    id = serializers.UUIDField()
    title = serializers.CharField()
    state = serializers.ChoiceField(STATES)
    change_ids = serializers.ListField(child=serializers.IntegerField(), help_text="Empty for a test.")
    created_at = serializers.DateTimeField()
    due_at = serializers.DateTimeField(help_text="Of the next attempt, while it waits.")
    sent_at = serializers.DateTimeField(allow_null=True)
    attempts = serializers.IntegerField()
    status = serializers.IntegerField(allow_null=True, help_text="The HTTP status of the last answer.")
    problem = serializers.CharField(
        allow_null=True, help_text="Why the last attempt failed, or which addresses refused a mail."
    )


class DeliveriesShape(Shape):
    deliveries = DeliveryShape(many=True, help_text="The newest first.")


class DeliveriesView(AlertsEndpoint):
    is_private = True
    known_params = ("limit",)

    @extend_schema(
        operation_id="deliveries",
        parameters=[
            CALLED,
            OpenApiParameter("limit", int, description=f"1 to {MAX_DELIVERIES}; {DEFAULT_DELIVERIES} by default."),
        ],
        responses={200: DeliveriesShape, **FAILURES},
    )
    def get(self, request: Request, slug: str, channel: str) -> Response:
        """The newest messages of a channel, with what became of them."""
        limit = read_count(request._request.GET, "limit", default=DEFAULT_DELIVERIES, high=MAX_DELIVERIES)
        found = find_or_404(self.project.pk, channel)
        messages = select_messages(self.project.pk, found.id, most=limit)
        return Response({"deliveries": [encode_delivery(each) for each in messages]})


class ChannelTestView(AlertsEndpoint):
    @extend_schema(
        operation_id="test_channel",
        parameters=[CALLED],
        request=None,
        responses={202: DeliveryShape, **FAILURES, 429: TOO_MANY},
    )
    def post(self, request: Request, slug: str, channel: str) -> Response:
        """Sends a message that is about nothing. Ask the deliveries for its outcome."""
        found = find_or_404(self.project.pk, channel)
        try:
            message = make_test(found, datetime.now(UTC))
        except TooManyTests as error:
            raise Throttled(wait=error.wait_s, detail=str(error)) from None
        return Response(encode_delivery(message), status=202)


class ReplayView(AlertsEndpoint):
    @extend_schema(
        operation_id="replay_delivery", parameters=[CALLED], request=None, responses={202: DeliveryShape, **FAILURES}
    )
    def post(self, request: Request, slug: str, channel: str, message_id: UUID) -> Response:
        """Sends a message again, with the same id. One that is on its way is left alone."""
        found = find_or_404(self.project.pk, channel)
        replay(self.project.pk, self.find(found.id, message_id).id, datetime.now(UTC))
        return Response(encode_delivery(self.find(found.id, message_id)), status=202)

    def find(self, channel_id: int, message_id: UUID) -> Message:
        """Returns a message of a channel. Raises `Http404`."""
        message = find_message(self.project.pk, channel_id, message_id)
        if message is None:
            raise Http404("There is no such delivery.")
        return message


def encode_delivery(message: Message) -> Json:
    """Returns a message for JSON. A mail server's answer may name who did not get it: that is left out."""
    names: tuple[str, ...] = ("title", "change_ids", "created_at", "due_at", "sent_at", "attempts", "status")
    shown: dict[str, Any] = {name: getattr(message, name) for name in names}  # Any: columns
    return {
        "id": message.id,
        **shown,
        "state": Message.State(message.state).name.lower(),
        "problem": None if message.problem is None else mask_addresses(message.problem),
    }
