"""`quality`: the traces received, how they were measured, and in which browsers."""

from collections.abc import Sequence

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors.project.absences import Absences, AbsentPart, select_absences
from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.project.quality import (
    IntakeDay,
    IntervalRow,
    MeasuredRow,
    SampledReceipts,
    SnippetCost,
    select_funcs_beyond,
    select_intake_days,
    select_measured,
    select_overflow,
    select_receipts,
    select_rejections,
)
from aggregate.selectors.slice.slices import SLICE_FIELDS
from dashboard.api.core.encoding import (
    ArrivalsShape,
    SliceShape,
    TimeShape,
    ViewsCountShape,
    encode_arrivals,
    encode_slice,
    encode_time,
    encode_views_count,
)
from dashboard.api.core.parameters import ERRORS, SLICE_PARAMS
from dashboard.api.core.views import ProjectView
from dashboard.web.schemas import Json, Shape, define_shape

MAX_DAYS = 10_000  # 27 years


class IntakeDayShape(Shape):
    """Traces that arrived in one UTC day, for the whole project."""

    day = serializers.DateField()
    folded = serializers.IntegerField()
    pending = serializers.IntegerField()
    rejected = serializers.IntegerField()
    refused = serializers.IntegerField(help_text="A post that was refused before it was read counts once.")


class MeasuredShape(ViewsCountShape):
    """Exact sums of the views of one browser family and device class, or of one navigation; the others are null."""

    browser = serializers.CharField(allow_null=True)
    device = serializers.CharField(allow_null=True)
    navigation = serializers.CharField(allow_null=True)
    traces = serializers.IntegerField()
    samples_per_view = serializers.FloatField(allow_null=True)
    time_ms = TimeShape()


class SampledIntervalShape(Shape):
    """Sampled traces for which the browser reported the same interval."""

    browser = serializers.CharField()
    device = serializers.CharField()
    requested_ms = serializers.FloatField(
        allow_null=True, help_text="The requested interval; null if the client did not send it."
    )
    effective_ms = serializers.FloatField(help_text="What the browser reports.")
    measured_ms = serializers.FloatField(allow_null=True, help_text="Median over traces of each trace's median gap.")
    measured_p95_ms = serializers.FloatField(allow_null=True)
    traces = serializers.IntegerField()
    measured_traces = serializers.IntegerField(help_text="Traces that were long enough to measure.")
    wrong_traces = serializers.IntegerField(
        help_text="Traces whose measured interval is at least 1.25 times the reported one."
    )
    disagreeing_traces = serializers.IntegerField(
        help_text="Traces whose samples disagree with the reported interval by more than a factor of 2. They are "
        "weighed by the interval that they show."
    )


class IntervalDisagreementShape(Shape):
    """Sampled traces that are weighed by the interval that their samples show, not by the reported one."""

    traces = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True, help_text="Of all sampled traces; null without any.")


class IsolationShape(Shape):
    yes = serializers.IntegerField()
    no = serializers.IntegerField()
    unknown = serializers.IntegerField()


class RateCountShape(Shape):
    sample_rate = serializers.FloatField()
    traces = serializers.IntegerField()


class SnippetCostShape(Shape):
    """The main-thread time of the snippet itself per view, over the views whose senders told it."""

    views = serializers.IntegerField()
    median_ms = serializers.FloatField()
    p95_ms = serializers.FloatField()


class SampledReceiptsShape(Shape):
    """Facts from the receipts of a uniform sample of views. Counts are traces."""

    views = serializers.IntegerField()
    population = serializers.IntegerField(help_text="Views of the slice.")
    traces = serializers.IntegerField()
    interval_disagrees = IntervalDisagreementShape()
    intervals = SampledIntervalShape(many=True)
    isolated = IsolationShape(help_text="Cross-origin isolated pages.")
    sample_rates = RateCountShape(many=True)
    end_reasons = serializers.DictField(child=serializers.IntegerField())
    body_bytes = serializers.FloatField(allow_null=True, help_text="Median, expanded.")
    snippet = SnippetCostShape(allow_null=True, help_text="Null if no sender told its cost.")


class OverflowShape(Shape):
    """Page views beyond the bounds on releases and pages."""

    views = serializers.IntegerField(help_text='Views that count as "(other)": of that release, that page, or both.')
    without_release = serializers.IntegerField(help_text='The part whose release counts as "(other)" too.')


class AbsentReasonShape(Shape):
    """Views that recorded nothing for one reason."""

    reason = serializers.CharField()
    status = serializers.IntegerField(
        allow_null=True, help_text="What the ingest endpoint answered, with the reason `status`."
    )
    reports = serializers.IntegerField()
    views = serializers.IntegerField()


class AbsentBrowserShape(Shape):
    browser = serializers.CharField()
    reports = serializers.IntegerField()
    views = serializers.IntegerField()


class AbsentPageShape(Shape):
    page = serializers.CharField()
    reports = serializers.IntegerField()
    views = serializers.IntegerField()


class AbsentShape(Shape):
    """Page views that recorded nothing, by UTC day, page and browser. `views` are estimated from `reports`."""

    reports = serializers.IntegerField()
    views = serializers.IntegerField()
    recorded_views = serializers.IntegerField(
        allow_null=True, help_text="The views that the recorded ones of the same days, pages and browsers stand for."
    )
    share = serializers.FloatField(allow_null=True, help_text="Of all page views with the snippet.")
    since = serializers.DateField(allow_null=True, help_text="The first day that has such views.")
    by_reason = AbsentReasonShape(many=True)
    by_browser = AbsentBrowserShape(many=True)
    by_page = AbsentPageShape(many=True, help_text="The 50 pages with the most such views.")
    page_count = serializers.IntegerField()


QualityShape = define_shape(
    "QualityShape",
    "How reliable the other answers are.",
    {
        "slice": SliceShape(),
        "arrivals": ArrivalsShape(),
        "rejected_by_reason": serializers.DictField(
            child=serializers.IntegerField(), help_text="Of the last 10,000 rejected traces in the slice's time."
        ),
        "days": IntakeDayShape(many=True),
        "whole": MeasuredShape(),
        "by_browser": MeasuredShape(many=True, help_text="By browser family and device class; most views first."),
        "by_navigation": MeasuredShape(many=True, help_text="By how the views began; most views first."),
        "overflow": OverflowShape(),
        "functions_beyond": serializers.IntegerField(
            help_text='How often a new function was beyond the room of its day, and counted as "(other)".'
        ),
        "absent": AbsentShape(help_text="Releases and devices of these views are not known, and days are whole."),
        "sampled": SampledReceiptsShape(),
    },
)


class QualityView(ProjectView):
    known_params = SLICE_FIELDS

    @extend_schema(operation_id="quality", parameters=SLICE_PARAMS, responses={200: QualityShape, **ERRORS})
    def get(self, request: Request, slug: str) -> Response:
        """Reports traces by state, how they were measured, and in which browsers."""
        slice_ = self.resolve_slice()
        measured = select_measured(slice_)
        overflow = select_overflow(slice_)
        return Response(
            {
                "slice": encode_slice(slice_),
                "arrivals": encode_arrivals(select_arrivals(slice_)),
                "rejected_by_reason": dict(select_rejections(slice_).by_reason),
                "days": [encode_day(day) for day in select_intake_days(slice_, limit=MAX_DAYS)],
                "whole": encode_measured(measured.whole),
                "by_browser": [encode_measured(row) for row in measured.by_browser],
                "by_navigation": [encode_measured(row) for row in measured.by_navigation],
                "overflow": {"views": overflow.views, "without_release": overflow.without_release},
                "functions_beyond": select_funcs_beyond(slice_),
                "absent": encode_absences(select_absences(slice_)),
                "sampled": encode_receipts(select_receipts(slice_, measured.whole.views)),
            }
        )


def encode_day(day: IntakeDay) -> Json:
    return {
        "day": day.day.isoformat(),
        "folded": day.folded,
        "pending": day.pending,
        "rejected": day.rejected,
        "refused": day.refused,
    }


def encode_absences(absences: Absences) -> Json:
    return {
        "reports": absences.reports,
        "views": absences.views,
        "recorded_views": absences.recorded,
        "share": absences.share,
        "since": absences.first_on.isoformat() if absences.first_on else None,
        "by_reason": [
            {"reason": row.reason, "status": row.status, "reports": row.reports, "views": row.views}
            for row in absences.by_reason
        ],
        "by_browser": encode_absent_parts("browser", absences.by_browser),
        "by_page": encode_absent_parts("page", absences.by_page),
        "page_count": absences.page_count,
    }


def encode_absent_parts(name: str, parts: Sequence[AbsentPart]) -> list[Json]:
    return [{name: part.name, "reports": part.reports, "views": part.views} for part in parts]


def encode_measured(row: MeasuredRow) -> Json:
    return {
        "browser": row.browser,
        "device": row.device,
        "navigation": row.navigation,
        **encode_views_count(row.views, row.truncated_views),
        "traces": row.traces,
        "samples_per_view": row.samples_per_view,
        "time_ms": encode_time(row.time),
    }


def encode_receipts(receipts: SampledReceipts) -> Json:
    return {
        "views": receipts.views,
        "population": receipts.population,
        "traces": receipts.traces,
        "interval_disagrees": {
            "traces": receipts.disagreeing,
            "share": receipts.disagreeing / receipts.traces if receipts.traces else None,
        },
        "intervals": [encode_interval_row(row) for row in receipts.intervals],
        "isolated": {
            word: receipts.isolated.get(key, 0) for word, key in (("yes", True), ("no", False), ("unknown", None))
        },
        "sample_rates": [{"sample_rate": rate, "traces": count} for rate, count in receipts.sample_rates.items()],
        "end_reasons": dict(receipts.end_reasons),
        "body_bytes": receipts.body_bytes,
        "snippet": None if receipts.snippet is None else encode_snippet(receipts.snippet),
    }


def encode_snippet(cost: SnippetCost) -> Json:
    return {"views": cost.views, "median_ms": cost.median_us / 1000, "p95_ms": cost.high_us / 1000}


def encode_interval_row(row: IntervalRow) -> Json:
    return {
        "browser": row.browser,
        "device": row.device,
        "requested_ms": None if row.requested_us is None else row.requested_us / 1000,
        "effective_ms": row.effective_us / 1000,
        "measured_ms": None if row.measured_us is None else row.measured_us / 1000,
        "measured_p95_ms": None if row.high_us is None else row.high_us / 1000,
        "traces": row.traces,
        "measured_traces": row.measured,
        "wrong_traces": row.wrong,
        "disagreeing_traces": row.disagreeing,
    }
