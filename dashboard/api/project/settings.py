"""`settings`: the retention and the quotas of a project, what its pages record, and the link to their traces."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from django.core.exceptions import ValidationError
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request

from dashboard.api.core.answer import ADMINS_ONLY, Answer, Pair, doc, operation
from dashboard.api.core.views import ProjectView
from dashboard.web.access import may_administer, reader_of
from dashboard.web.params import ParamError
from ingest.count_models import DayCount
from ingest.endpoint.admission import select_bytes
from profcore.code.source_links import TemplateError, check_trace_template
from projects.collection import change_collection, plan_collection
from projects.descriptions import change_trace_link
from projects.limits import LIMITS, change_limits, limit_of
from projects.models import Project


class LimitAnswer(Answer):
    """One limit, in days, traces per UTC day, or megabytes (of 1,000,000 bytes). A quota of 0 means no quota."""

    own: Annotated[int | None, doc("The project's own value; null means the default.")]
    default: Annotated[int, doc("The server's setting.")]
    effective: Annotated[int, doc("What holds.")]


class LimitsAnswer(Answer):
    keep_raw_days: LimitAnswer
    keep_views_days: LimitAnswer
    keep_cells_days: LimitAnswer
    max_traces_per_day: LimitAnswer
    max_mb_per_day: LimitAnswer
    max_kept_mb: LimitAnswer


class CollectionAnswer(Answer):
    """What pages record that load the snippet by its address with a key. Null leaves it to the page's own tag."""

    off: Annotated[bool, doc("Whether nothing is recorded on any page.")]
    rate: Annotated[float | None, doc("Share of page views that are recorded, 0 to 1.")]
    pages: Annotated[
        Sequence[Annotated[Sequence[Any], Pair]],  # Any: a text and a number
        doc("Pairs of a page's pattern and its rate; the first that matches wins over `rate`."),
    ]
    duration_ms: Annotated[int | None, doc("Time of a page view that is recorded.")]
    interactions: Annotated[bool, doc("Whether, after the load, only interactions are recorded.")]
    absent_rate: Annotated[
        float | None, doc("Share of page views that report why they recorded nothing; null means 0.01.")
    ]
    only_slow: Annotated[bool, doc("Whether of most page views only slow moments are kept.")]
    whole_rate: Annotated[
        float | None, doc("Share of the recorded page views that are kept whole all the same; null means 0.1.")
    ]
    experiment_rate: Annotated[
        float | None, doc("Share of page views that tell how soon the page was there, with the header and without.")
    ]


class SettingsAnswer(Answer):
    slug: str
    name: str
    limits: LimitsAnswer
    collection: Annotated[CollectionAnswer, doc("Changes reach pages within five minutes.")]
    trace_link_template: Annotated[
        str, doc("The address of a trace in a tracing system, with `{trace_id}`; an empty text means none.")
    ]
    traces_today: Annotated[int | None, doc("Used of today's quota (UTC); null if there is no quota.")]
    bytes_today: Annotated[int, doc("Raw traces stored today (UTC), packed.")]
    bytes_kept: Annotated[int, doc("Raw traces stored within their retention, packed.")]
    may_change: Annotated[bool, doc("Whether you can change them.")]


CHANGES: Final[dict[str, Any]] = {  # Any: a JSON Schema
    "type": "object",
    "properties": {
        **{name: {"type": "integer", "nullable": True} for name in LIMITS},
        "trace_link_template": {"type": "string"},
        "collection": {"type": "object", "description": "The fields to change.", "additionalProperties": True},
    },
    "additionalProperties": False,
}


class SettingsView(ProjectView):
    def get(self, request: Request, slug: str) -> SettingsAnswer:
        """The project's retention and quotas (own, default and effective values), and what its pages record."""
        return self.answer()

    @operation("change_settings", body={"application/json": CHANGES}, errors=ADMINS_ONLY)
    def patch(self, request: Request, slug: str) -> SettingsAnswer:
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
        return self.answer()

    def change(self, changes: dict[str, Any]) -> None:  # Any: JSON
        """Changes limits, collection and link, all or none. Raises Django's `ValidationError`."""
        template = read_trace_template(changes.pop("trace_link_template", self.project.trace_link_template))
        collected = changes.pop("collection", {})
        if not isinstance(collected, dict):
            raise ValidationError({"collection": "It must be an object."})
        collection = plan_collection(self.project, collected)
        change_limits(self.project, changes)
        if collected:
            change_collection(self.project, collection)
        change_trace_link(self.project, template)

    def may_change(self) -> bool:
        return may_administer(reader_of(self.request), self.project)

    def answer(self) -> SettingsAnswer:
        limits = {name: limit_of(self.project, name) for name in LIMITS}
        used = select_bytes(self.project.pk, datetime.now(UTC), limits["keep_raw_days"].effective)
        return SettingsAnswer.of(
            self.project,
            limits=LimitsAnswer(**{name: LimitAnswer.of(limit) for name, limit in limits.items()}),
            collection=CollectionAnswer.of(self.project.collection),
            traces_today=count_today(self.project) if limits["max_traces_per_day"].effective else None,
            bytes_today=used.today,
            bytes_kept=used.kept,
            may_change=self.may_change(),
        )


def read_trace_template(template: object) -> str:
    """Returns a checked template. Raises Django's `ValidationError`."""
    try:
        if not isinstance(template, str):
            raise TemplateError("it must be a text")
        if template:
            check_trace_template(template)
    except TemplateError as error:
        raise ValidationError({"trace_link_template": f"{str(error).capitalize()}."}) from None
    return template


def count_today(project: Project) -> int:
    """Returns how many traces of today's quota are used."""
    row = DayCount.objects.filter(project=project, day_on=datetime.now(UTC).date()).first()
    return row.traces if row else 0
