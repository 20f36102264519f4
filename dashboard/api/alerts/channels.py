"""`channels`: where messages go. Created or changed by a name that the client chooses; addresses are never answered."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
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
from dashboard.api.alerts.access import FORBIDDEN, AlertsEndpoint
from dashboard.api.alerts.schemas import CHANNEL, naming_fields, read_channel, write_terms
from dashboard.api.core.encoding import ErrorShape
from dashboard.api.core.parameters import ERRORS
from dashboard.web.params import ParamError
from dashboard.web.schemas import Json, Shape
from projects.models import ApiToken

CALLED: Final = OpenApiParameter("channel", str, OpenApiParameter.PATH, description="Its slug or id.")
MISSING: Final = OpenApiResponse(ErrorShape, "There is no such project, channel or delivery, or you cannot read it.")
FAILURES: Final[dict[int, Any]] = {**ERRORS, 403: FORBIDDEN, 404: MISSING}  # Any: spectacular's


class ChannelShape(Shape):
    id = serializers.IntegerField()
    slug = serializers.CharField(allow_null=True, help_text="The name that a client chose; null if none did.")
    kind = serializers.CharField(help_text="mail, webhook, slack or teams")
    name = serializers.CharField()
    address = serializers.CharField(help_text="What can be shown of its addresses.")
    is_on = serializers.BooleanField(help_text="Whether messages are sent.")
    tells_suspected = serializers.BooleanField(help_text="Whether suspicions are told, too.")
    is_digest = serializers.BooleanField(help_text="One message per release, a day after its first change.")
    quiet_from = serializers.CharField(allow_null=True, help_text="A time of the day such as 22:00.")
    quiet_to = serializers.CharField(allow_null=True)
    time_zone = serializers.CharField(help_text="Of the quiet hours.")
    alerts = serializers.ListField(
        child=serializers.IntegerField(),
        allow_null=True,
        help_text="Ids of the alerts whose messages it gets; null: all.",
    )
    pages = serializers.ListField(
        child=serializers.CharField(), allow_null=True, help_text="Pages that it gets messages about; null: all."
    )
    created_at = serializers.DateTimeField()


class WrittenChannelShape(ChannelShape):
    secret = serializers.CharField(allow_null=True, help_text="Of a webhook, if it is new: this once. Null otherwise.")


class ChannelsShape(Shape):
    channels = ChannelShape(many=True)


class SecretShape(Shape):
    secret = serializers.CharField(help_text="It signs all messages from now on, and is not shown again.")


class ChannelsView(AlertsEndpoint):
    reading_scopes = (ApiToken.Scope.ALERTS,)

    @extend_schema(operation_id="channels", responses={200: ChannelsShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """The channels of the project, without their addresses and secrets."""
        return Response({"channels": [encode_channel(each) for each in select_channels(self.project.pk)]})


class ChannelView(AlertsEndpoint):
    reading_scopes = (ApiToken.Scope.ALERTS,)

    @extend_schema(operation_id="channel", parameters=[CALLED], responses={200: ChannelShape, **FAILURES})
    def get(self, request: Request, slug: str, channel: str) -> Response:
        """One channel, without its addresses and secret."""
        return Response(encode_channel(find_or_404(self.project.pk, channel)))

    @extend_schema(
        operation_id="put_channel",
        parameters=[CALLED],
        request={"application/json": CHANNEL},
        responses={200: WrittenChannelShape, 201: WrittenChannelShape, **FAILURES},
    )
    def put(self, request: Request, slug: str, channel: str) -> Response:
        """Creates a channel of this slug, or makes it what the body says. The same again changes nothing."""
        return self.write(request, channel, kept={})

    @extend_schema(
        operation_id="change_channel",
        parameters=[CALLED],
        request={"application/json": CHANNEL},
        responses={200: WrittenChannelShape, **FAILURES},
    )
    def patch(self, request: Request, slug: str, channel: str) -> Response:
        """Changes the given fields of a channel."""
        found = find_or_404(self.project.pk, channel)
        return self.write(request, str(found.id), kept={"kind": found.kind, "name": found.name, **write_terms(found)})

    @extend_schema(
        operation_id="delete_channel",
        parameters=[CALLED],
        responses={204: OpenApiResponse(description="It is gone."), **FAILURES},
    )
    def delete(self, request: Request, slug: str, channel: str) -> Response:
        """Deletes a channel with its deliveries, and with what still waits for it."""
        delete_channel(find_or_404(self.project.pk, channel))
        return Response(status=204)

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
        return Response({**encode_channel(channel), "secret": secret or None}, status=201 if is_new else 200)


class ChannelSecretView(AlertsEndpoint):
    @extend_schema(
        operation_id="renew_channel_secret", parameters=[CALLED], request=None, responses={200: SecretShape, **FAILURES}
    )
    def post(self, request: Request, slug: str, channel: str) -> Response:
        """Gives a webhook another secret. The one before signs nothing more."""
        found = find_or_404(self.project.pk, channel)
        if found.kind != Channel.Kind.WEBHOOK:
            raise ParamError("kind", "Only webhooks have a secret.")
        try:
            secret = change_channel(found, name=found.name, terms=terms_of(found), renews_secret=True)
        except SealBroken as error:
            raise ParamError("addresses", str(error)) from None
        self.has_secret = True
        return Response({"secret": secret})


def find_or_404(project_id: int, called: str) -> Channel:
    """Returns a channel of a project. Raises `Http404`."""
    channel = find_channel(project_id, called)
    if channel is None:
        raise Http404("There is no such channel.")
    return channel


def encode_channel(channel: Channel) -> Json:
    """Returns what everybody who may read them sees of a channel."""
    return {
        "id": channel.id,
        "slug": channel.slug,
        "kind": channel.kind,
        "name": channel.name,
        "address": mask_addresses(channel.hint),
        **write_terms(channel),
        "created_at": channel.created_at,
    }
