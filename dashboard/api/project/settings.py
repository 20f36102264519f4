"""`settings`: the retention and the quotas of a project, and what its pages record."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from django.core.exceptions import ValidationError
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from dashboard.api.core.parameters import ERRORS
from dashboard.api.core.views import ProjectView
from dashboard.web.access import may_administer, reader_of
from dashboard.web.params import ParamError
from dashboard.web.schemas import Json, Shape
from ingest.count_models import DayCount
from ingest.endpoint.admission import select_bytes
from projects.collection import change_collection, plan_collection
from projects.limits import LIMITS, change_limits, limit_of
from projects.models import Project


class LimitShape(Shape):
    """One limit, in days, traces per UTC day, or megabytes (of 1,000,000 bytes). A quota of 0 means no quota."""

    own = serializers.IntegerField(allow_null=True, help_text="The project's own value; null means the default.")
    default = serializers.IntegerField(help_text="The server's setting.")
    effective = serializers.IntegerField(help_text="What holds.")


class LimitsShape(Shape):
    keep_raw_days = LimitShape()
    keep_views_days = LimitShape()
    keep_cells_days = LimitShape()
    max_traces_per_day = LimitShape()
    max_mb_per_day = LimitShape()
    max_kept_mb = LimitShape()


class CollectionShape(Shape):
    """What pages record that load the snippet by its address with a key. Null leaves it to the page's own tag."""

    off = serializers.BooleanField(help_text="Whether nothing is recorded on any page.")
    rate = serializers.FloatField(allow_null=True, help_text="Share of page views that are recorded, 0 to 1.")
    pages = serializers.ListField(
        child=serializers.ListField(min_length=2, max_length=2),
        help_text="Pairs of a page's pattern and its rate; the first that matches wins over `rate`.",
    )
    duration_ms = serializers.IntegerField(allow_null=True, help_text="Time of a page view that is recorded.")
    interactions = serializers.BooleanField(help_text="Whether, after the load, only interactions are recorded.")
    absent_rate = serializers.FloatField(
        allow_null=True, help_text="Share of page views that report why they recorded nothing; null means 0.01."
    )


class SettingsShape(Shape):
    slug = serializers.CharField()
    name = serializers.CharField()
    limits = LimitsShape()
    collection = CollectionShape(help_text="Changes reach pages within five minutes.")
    traces_today = serializers.IntegerField(
        allow_null=True, help_text="Used of today's quota (UTC); null if there is no quota."
    )
    bytes_today = serializers.IntegerField(help_text="Raw traces stored today (UTC), packed.")
    bytes_kept = serializers.IntegerField(help_text="Raw traces stored within their retention, packed.")
    may_change = serializers.BooleanField(help_text="Whether you can change them.")


CHANGES: Final[dict[str, Any]] = {  # Any: a JSON Schema
    "type": "object",
    "properties": {
        **{name: {"type": "integer", "nullable": True} for name in LIMITS},
        "collection": {"type": "object", "description": "The fields to change.", "additionalProperties": True},
    },
    "additionalProperties": False,
}


class SettingsView(ProjectView):
    @extend_schema(operation_id="settings", responses={200: SettingsShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """The project's retention and quotas (own, default and effective values), and what its pages record."""
        return Response(self.encode())

    @extend_schema(
        operation_id="change_settings",
        request={"application/json": CHANGES},
        responses={
            200: SettingsShape,
            **ERRORS,
            403: OpenApiResponse(
                description="Only administrators with a session can change settings; a token can only read."
            ),
        },
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Changes the given settings, all or none; null removes the project's own value. For administrators."""
        if not self.may_change():
            raise PermissionDenied("Only administrators of the project can change its settings; a token can only read.")
        changes = request.data
        if not isinstance(changes, dict):
            raise ParamError("$", "The body must be a JSON object.")
        try:
            self.change({str(name): value for name, value in changes.items()})
        except ValidationError as error:
            field, texts = next(iter(error.message_dict.items()))
            raise ParamError(field[:80], f"{field[:80]}: {' '.join(texts)}") from None
        return Response(self.encode())

    def change(self, changes: dict[str, Any]) -> None:  # Any: JSON
        """Changes limits and collection, both or neither. Raises Django's `ValidationError`."""
        collected = changes.pop("collection", {})
        if not isinstance(collected, dict):
            raise ValidationError({"collection": "It must be an object."})
        collection = plan_collection(self.project, collected)
        change_limits(self.project, changes)
        if collected:
            change_collection(self.project, collection)

    def may_change(self) -> bool:
        return may_administer(reader_of(self.request), self.project)

    def encode(self) -> Json:
        limits = {name: limit_of(self.project, name) for name in LIMITS}
        used = select_bytes(self.project.pk, datetime.now(UTC), limits["keep_raw_days"].effective)
        return {
            "slug": self.project.slug,
            "name": self.project.name,
            "limits": {n: {"own": x.own, "default": x.default, "effective": x.effective} for n, x in limits.items()},
            "collection": asdict(self.project.collection),
            "traces_today": count_today(self.project) if limits["max_traces_per_day"].effective else None,
            "bytes_today": used.today,
            "bytes_kept": used.kept,
            "may_change": self.may_change(),
        }


def count_today(project: Project) -> int:
    """Returns how many traces of today's quota are used."""
    row = DayCount.objects.filter(project=project, day_on=datetime.now(UTC).date()).first()
    return row.traces if row else 0
