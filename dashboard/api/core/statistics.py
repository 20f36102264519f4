"""Statistics in answers: how many views were read, and the cost of each row per view with its uncertainty."""

from rest_framework import serializers

from dashboard.web.params import MEASURES
from dashboard.web.schemas import Json, Shape, interval_field
from profcore.stats.estimates import Figure, Interval
from profcore.stats.summaries import FuncSummary, Summary


class StatisticsShape(Shape):
    """The sample that the estimates come from. With `is_too_few` there are no estimates."""

    measure = serializers.ChoiceField(MEASURES)
    views = serializers.IntegerField(help_text="Views read: all, or a uniform sample.")
    population = serializers.IntegerField(help_text="Views of the slice.")
    effective_views = serializers.FloatField(help_text="The number of equally weighted views that would be as precise.")
    is_weighted = serializers.BooleanField(
        help_text="Sample rates differ. In numbers per view and in shares, each view counts 1 / its rate."
    )
    is_complete = serializers.BooleanField(
        help_text="False if the contributions of some views have expired. Means and shares then come from the others."
    )
    clipped_views = serializers.IntegerField(help_text="Single views with a rate of their own, which count for less.")
    is_too_few = serializers.BooleanField()


class EstimatesShape(Shape):
    """The cost per page view by the requested measure, zeros included. Null if there is too little data."""

    ms_per_view = serializers.FloatField()
    ms_per_view_ci95 = interval_field()
    share = serializers.FloatField(allow_null=True)
    share_ci95 = interval_field()
    p50_ms = serializers.FloatField()
    p50_ms_ci95 = interval_field()
    p75_ms = serializers.FloatField()
    p75_ms_ci95 = interval_field()
    p95_ms = serializers.FloatField()
    p95_ms_ci95 = interval_field()
    views_share = serializers.FloatField(help_text="The share of views in which it is above zero.")
    views_share_ci95 = interval_field()


def encode_statistics(summary: Summary) -> Json:
    return {
        "measure": summary.measure,
        "views": summary.views,
        "population": summary.population,
        "effective_views": summary.effective_views,
        "is_weighted": summary.is_weighted,
        "is_complete": summary.is_complete,
        "clipped_views": summary.clipped_views,
        "is_too_few": summary.is_too_few,
    }


def encode_estimates(found: FuncSummary) -> Json:
    return {
        "ms_per_view": found.ms_per_view.value,
        "ms_per_view_ci95": encode_interval(found.ms_per_view),
        "share": found.share.value if found.share else None,
        "share_ci95": encode_interval(found.share),
        "p50_ms": found.p50_ms.value,
        "p50_ms_ci95": encode_interval(found.p50_ms),
        "p75_ms": found.p75_ms.value,
        "p75_ms_ci95": encode_interval(found.p75_ms),
        "p95_ms": found.p95_ms.value,
        "p95_ms_ci95": encode_interval(found.p95_ms),
        "views_share": found.ran.value,
        "views_share_ci95": encode_interval(found.ran),
    }


def encode_interval(found: Figure | Interval | None) -> list[float] | None:
    interval = found.ci95 if isinstance(found, Figure) else found
    return None if interval is None else [interval.low, interval.high]
