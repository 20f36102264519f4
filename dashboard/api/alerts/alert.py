"""`watches/{watch}`: one watch, created or changed by a name that the client chooses; and accepting a state."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, Final

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from alerts.delivery.gathering import put_into_words
from alerts.models import Watch
from alerts.reading import find_standings, has_state
from alerts.rules import CHANGEABLE, accept, delete_watch, find_watch, put_watch
from dashboard.api.alerts.access import FORBIDDEN, GuardView
from dashboard.api.alerts.alerts import WatchShape, WatchStateShape, encode_standings, encode_told
from dashboard.api.alerts.schemas import WATCH, naming_fields, read_watch
from dashboard.api.core.encoding import ErrorShape
from dashboard.api.core.parameters import ERRORS
from dashboard.web.schemas import Shape

CALLED: Final = OpenApiParameter(
    "watch", str, OpenApiParameter.PATH, description="Its slug or id; `release` is the watch on releases."
)
KEY_CHARS: Final = 64
MISSING: Final = OpenApiResponse(ErrorShape, "There is no such project, watch or state, or you cannot read it.")
ANSWERS: Final[dict[int, Any]] = {200: WatchShape, **ERRORS, 403: FORBIDDEN, 404: MISSING}  # Any: spectacular's


class AcceptedShape(Shape):
    change = WatchStateShape(allow_null=True, help_text="Null if nothing was suspected or confirmed any more.")


class WatchView(GuardView):
    @extend_schema(operation_id="watch", parameters=[CALLED], responses=ANSWERS)
    def get(self, request: Request, slug: str, watch: str) -> Response:
        """One watch, with what it asks."""
        return self.answer(self.find(watch))

    @extend_schema(
        operation_id="put_watch",
        parameters=[CALLED],
        request={"application/json": WATCH},
        responses={**ANSWERS, 201: WatchShape},
    )
    def put(self, request: Request, slug: str, watch: str) -> Response:
        """Creates a watch of this slug, or makes it what the body says. The same again changes nothing.

        With another question its states begin anew; its history stays.
        """
        return self.write(request, watch, kept={}, only=CHANGEABLE)

    @extend_schema(
        operation_id="change_watch", parameters=[CALLED], request={"application/json": WATCH}, responses=ANSWERS
    )
    def patch(self, request: Request, slug: str, watch: str) -> Response:
        """Changes the given fields of a watch. A question is replaced as a whole."""
        found = self.find(watch)
        question = found.question or None
        kept = {"kind": found.kind, "name": found.name, "question": question, "is_on": found.is_on}
        return self.write(request, str(found.id), kept=kept, only=request.data)

    @extend_schema(
        operation_id="delete_watch",
        parameters=[CALLED],
        responses={204: OpenApiResponse(description="It is gone."), **ERRORS, 403: FORBIDDEN, 404: MISSING},
    )
    def delete(self, request: Request, slug: str, watch: str) -> Response:
        """Deletes a watch with its states. Its history stays. The watch on releases can only be switched off."""
        with naming_fields():
            delete_watch(self.find(watch), datetime.now(UTC))
        return Response(status=204)

    def write(
        self, request: Request, called: str, *, kept: dict[str, Any], only: Collection[str]
    ) -> Response:  # Any: JSON
        """Makes a watch what the body says, beside what is kept."""
        body = read_watch(request.data, kept)
        try:
            with naming_fields():
                watch, is_new = put_watch(
                    project=self.project,
                    called=called,
                    kind=body.kind,
                    name=body.name,
                    question=body.question,
                    is_on=body.is_on,
                    only=only,
                    now=datetime.now(UTC),
                )
        except Watch.DoesNotExist:
            raise Http404("There is no such watch.") from None
        return self.answer(watch, status=201 if is_new else 200)

    def find(self, called: str) -> Watch:
        return find_or_404(self.project.pk, called)

    def answer(self, watch: Watch, *, status: int = 200) -> Response:
        return Response(encode_standings(find_standings(watch)), status=status)


class AcceptStateView(GuardView):
    @extend_schema(
        operation_id="accept_state",
        parameters=[CALLED, OpenApiParameter("key", str, OpenApiParameter.PATH, description="`key` of the state.")],
        request=None,
        responses={200: AcceptedShape, **ERRORS, 403: FORBIDDEN, 404: MISSING},
    )
    def post(self, request: Request, slug: str, watch: str, key: str) -> Response:
        """Ends a suspected or confirmed state because it is meant to be so. Channels are told."""
        found = find_or_404(self.project.pk, watch)
        try:
            subject_key = bytes.fromhex(key[:KEY_CHARS])
        except ValueError:
            raise Http404("There is no such state.") from None
        if not has_state(found, subject_key):
            raise Http404("There is no such state.")
        change = accept(found, subject_key, datetime.now(UTC))
        told = put_into_words(self.project, [change] if change is not None else [])
        return Response({"change": encode_told(told[0]) if told else None})


def find_or_404(project_id: int, called: str) -> Watch:
    """Returns a watch of a project. Raises `Http404`."""
    watch = find_watch(project_id, called)
    if watch is None:
        raise Http404("There is no such watch.")
    return watch
