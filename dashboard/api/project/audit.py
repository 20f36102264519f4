"""`GET …/audit`: a project's log of administration, for its admins and for tokens with the scope `audit`."""

from typing import Final

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.api.core.parameters import ERRORS
from dashboard.api.core.views import ProjectView
from dashboard.web.access import may_administer
from dashboard.web.params import ParamError
from dashboard.web.schemas import Shape
from projects.audit.entries import encode_entry, entries_of
from projects.models import ApiToken, Project

PAGE_ROWS: Final = 1_000
AFTER: Final = OpenApiParameter("after", OpenApiTypes.INT64, description="Only entries after the one with this id.")


class ActorShape(Shape):
    kind = serializers.CharField(help_text="user, token, command, provider or server")
    id = serializers.IntegerField(allow_null=True)
    name = serializers.CharField(allow_blank=True)


class AuditProjectShape(Shape):
    id = serializers.IntegerField()
    slug = serializers.CharField()


class AuditEntryShape(Shape):
    id = serializers.IntegerField()
    at = serializers.DateTimeField()
    act = serializers.CharField()
    actor = ActorShape()
    network = serializers.CharField(allow_null=True, help_text="Stands for an address: equal signs, equal networks.")
    project = AuditProjectShape(allow_null=True)
    about = serializers.DictField()


class AuditShape(Shape):
    entries = AuditEntryShape(many=True)
    after = serializers.IntegerField(help_text="Ask again with this number for what came later.")


class AuditView(ProjectView):
    token_scopes = (ApiToken.Scope.AUDIT,)
    known_params = ("after",)

    @extend_schema(operation_id="audit", parameters=[AFTER], responses={200: AuditShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """Up to 1,000 entries of the project's audit log, oldest first."""
        if not isinstance(request.auth, ApiToken) and not may_administer(request.user, self.project):
            raise PermissionDenied("Only administrators of the project can read its audit log.")
        text = request.query_params.get("after", "0")
        if not (text.isascii() and text.isdigit() and len(text) < 19):
            raise ParamError("after", "after must be the id of an entry.")
        own = entries_of(Project.objects.filter(pk=self.project.pk), with_server=False)
        entries = [encode_entry(entry) for entry in own.filter(pk__gt=int(text)).order_by("pk")[:PAGE_ROWS]]
        return Response({"entries": entries, "after": entries[-1]["id"] if entries else int(text)})
