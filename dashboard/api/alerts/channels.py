"""`channels`: where messages go. Created or changed by a name that the client chooses; addresses are never answered."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Final, Self

from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from alerts.channels import (
    change_channel,
    delete_channel,
    find_alert_ids,
    find_channel,
    mask_addresses,
    put_channel,
    terms_of,
)
from alerts.models import Channel
from alerts.reading import select_channels
from alerts.sealing import SealBroken
from dashboard.api.alerts.access import AlertsEndpoint
from dashboard.api.alerts.schemas import CHANNEL, naming_fields, read_channel, write_terms
from dashboard.api.core.answer import Answer, Instant, doc, operation
from dashboard.web.params import ParamError
from projects.models import ApiToken

BODY: Final = {"application/json": CHANNEL}


class ChannelAnswer(Answer):
    id: int
    slug: Annotated[str | None, doc("The name that a client chose; null if none did.")]
    kind: Annotated[str, doc("mail, webhook, slack or teams")]
    name: str
    address: Annotated[str, doc("What can be shown of its addresses.")]
    is_on: Annotated[bool, doc("Whether messages are sent.")]
    tells_suspected: Annotated[bool, doc("Whether suspicions are told, too.")]
    is_digest: Annotated[bool, doc("One message per release, a day after its first change.")]
    time_zone: Annotated[str, doc("Of the quiet hours.")]
    quiet_from: Annotated[str | None, doc("A time of the day such as 22:00.")]
    quiet_to: str | None
    alerts: Annotated[Sequence[int] | None, doc("Ids of the alerts whose messages it gets; null: all.")]
    pages: Annotated[Sequence[str] | None, doc("Pages that it gets messages about; null: all.")]
    owners: Annotated[Sequence[str] | None, doc("Owners of the functions that it gets messages about; null: all.")]
    created_at: Instant

    @classmethod
    def of(cls, channel: Channel, /, **values: Any) -> Self:
        """Returns what everybody who may read them sees of a channel."""
        return super().of(channel, address=mask_addresses(channel.hint), **write_terms(channel), **values)


class WrittenChannelAnswer(ChannelAnswer):
    secret: Annotated[str | None, doc("Of a webhook, if it is new: this once. Null otherwise.")]


class ChannelsAnswer(Answer):
    channels: list[ChannelAnswer]


class SecretAnswer(Answer):
    secret: Annotated[str, doc("It signs all messages from now on, and is not shown again.")]


class ChannelsView(AlertsEndpoint):
    reading_scopes = (ApiToken.Scope.ALERTS,)

    def get(self, request: Request, slug: str) -> ChannelsAnswer:
        """The channels of the project, without their addresses and secrets."""
        return ChannelsAnswer([ChannelAnswer.of(channel) for channel in select_channels(self.project.pk)])


class ChannelView(AlertsEndpoint):
    reading_scopes = (ApiToken.Scope.ALERTS,)

    def get(self, request: Request, slug: str, channel: str) -> ChannelAnswer:
        """One channel, without its addresses and secret."""
        return ChannelAnswer.of(find_or_404(self.project.pk, channel))

    @operation("put_channel", body=BODY, answers={200: WrittenChannelAnswer, 201: WrittenChannelAnswer})
    def put(self, request: Request, slug: str, channel: str) -> Response:
        """Creates a channel of this slug, or makes it what the body says. The same again changes nothing."""
        return self.write(request, channel, kept={})

    @operation("change_channel", body=BODY, answers={200: WrittenChannelAnswer})
    def patch(self, request: Request, slug: str, channel: str) -> Response:
        """Changes the given fields of a channel."""
        row = find_or_404(self.project.pk, channel)
        return self.write(request, str(row.id), kept={"kind": row.kind, "name": row.name, **write_terms(row)})

    @operation("delete_channel")
    def delete(self, request: Request, slug: str, channel: str) -> None:
        """Deletes a channel with its deliveries, and with what still waits for it."""
        delete_channel(find_or_404(self.project.pk, channel))

    def write(self, request: Request, called: str, *, kept: dict[str, Any]) -> Response:  # Any: JSON
        """Makes a channel what the body says, beside what is kept."""
        body = read_channel(request.data, kept)
        try:
            with naming_fields():
                named = None if body.alerts is None else find_alert_ids(self.project.pk, body.alerts)
                channel, secret, is_new = put_channel(
                    project=self.project,
                    called=called,
                    kind=body.kind,
                    name=body.name,
                    addresses=body.addresses,
                    terms=body.terms if named is None else replace(body.terms, alert_ids=named),
                    now=datetime.now(UTC),
                )
        except Channel.DoesNotExist:
            raise Http404("There is no such channel.") from None
        self.has_secret = bool(secret)
        answer = WrittenChannelAnswer.of(channel, secret=secret or None)
        return Response(answer, status=201 if is_new else 200)


class ChannelSecretView(AlertsEndpoint):
    @operation("renew_channel_secret")
    def post(self, request: Request, slug: str, channel: str) -> SecretAnswer:
        """Gives a webhook another secret. The one before signs nothing more."""
        row = find_or_404(self.project.pk, channel)
        if row.kind != Channel.Kind.WEBHOOK:
            raise ParamError("kind", "Only webhooks have a secret.")
        try:
            secret = change_channel(row, name=row.name, terms=terms_of(row), renews_secret=True)
        except SealBroken as error:
            raise ParamError("addresses", str(error)) from None
        self.has_secret = True
        return SecretAnswer(secret)


def find_or_404(project_id: int, called: str) -> Channel:
    """Returns a channel of a project. Raises `Http404`."""
    channel = find_channel(project_id, called)
    if channel is None:
        raise Http404("There is no such channel.")
    return channel
