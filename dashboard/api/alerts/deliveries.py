"""`channels/{channel}/deliveries`: the log of messages of a channel, tests, and sending a message again."""

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Self
from uuid import UUID

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from alerts.channels import mask_addresses
from alerts.delivery.gathering import make_test, replay
from alerts.models import Message
from alerts.reading import find_message, select_messages
from dashboard.api.alerts.access import AlertsEndpoint
from dashboard.api.alerts.channels import find_or_404
from dashboard.api.core.answer import Answer, Instant, choices, doc, operation
from dashboard.api.core.parameters import limit_of

LIMIT: Final = limit_of(500, 50)
STATES: Final = tuple(state.name.lower() for state in Message.State)


class DeliveryAnswer(Answer):
    """A message to a channel. Its id is the same in each attempt, and is `webhook-id` of webhooks."""

    id: UUID
    title: str
    change_ids: Annotated[list[int], doc("Empty for a test.")]
    created_at: Instant
    due_at: Annotated[Instant, doc("Of the next attempt, while it waits.")]
    sent_at: Instant | None
    attempts: int
    status: Annotated[int | None, doc("The HTTP status of the last answer.")]
    state: Annotated[str, choices(STATES)]
    problem: Annotated[str | None, doc("Why the last attempt failed, or which addresses refused a mail.")]

    @classmethod
    def of(cls, message: Message, /, **values: Any) -> Self:
        """Returns a message. A mail server's answer may name who did not get it: that is left out."""
        problem = None if message.problem is None else mask_addresses(message.problem)
        return super().of(message, state=Message.State(message.state).name.lower(), problem=problem, **values)


class DeliveriesAnswer(Answer):
    deliveries: Annotated[list[DeliveryAnswer], doc("The newest first.")]


class DeliveriesView(AlertsEndpoint):
    is_private = True
    known_params = (LIMIT,)

    def get(self, request: Request, slug: str, channel: str) -> DeliveriesAnswer:
        """The newest messages of a channel, with what became of them."""
        limit = LIMIT.read(request.query_params)
        messages = select_messages(self.project.pk, find_or_404(self.project.pk, channel).id, most=limit)
        return DeliveriesAnswer([DeliveryAnswer.of(message) for message in messages])


class ChannelTestView(AlertsEndpoint):
    @operation("test_channel", answers={202: DeliveryAnswer}, errors={429: "The project had its tests of the hour."})
    def post(self, request: Request, slug: str, channel: str) -> Response:
        """Sends a message that is about nothing. Ask the deliveries for its outcome."""
        message = make_test(find_or_404(self.project.pk, channel), datetime.now(UTC))
        return Response(DeliveryAnswer.of(message), status=202)


class ReplayView(AlertsEndpoint):
    @operation(
        "replay_delivery", answers={202: DeliveryAnswer}, errors={429: "The project had its replays of the hour."}
    )
    def post(self, request: Request, slug: str, channel: str, message_id: UUID) -> Response:
        """Sends a message again, with the same id. One that is on its way is left alone."""
        channel_id = find_or_404(self.project.pk, channel).id
        replay(self.project.pk, self.find(channel_id, message_id).id, datetime.now(UTC))
        return Response(DeliveryAnswer.of(self.find(channel_id, message_id)), status=202)

    def find(self, channel_id: int, message_id: UUID) -> Message:
        """Returns a message of a channel. Raises `Http404`."""
        message = find_message(self.project.pk, channel_id, message_id)
        if message is None:
            raise Http404("There is no such delivery.")
        return message
