"""Statistics in answers: how many views were looked at, and what each row costs a view, with its uncertainty."""

from typing import Final, get_args

from rest_framework import serializers

from dashboard.shapes import Json, Shape, interval_field
from profcore.stats.estimates import Figure, Interval
from profcore.stats.summaries import FuncSummary, Summary
from profcore.stats.views import Measure

MEASURES: Final = get_args(Measure)


class StatisticsShape(Shape):
    """What estimates were made from. With `is_too_few` there are none."""

    measure = serializers.ChoiceField(MEASURES)
    views = serializers.IntegerField(help_text="Views looked at: all, or a uniform sample.")
    population = serializers.IntegerField(help_text="Views of the slice.")
    effective_views = serializers.FloatField(help_text="How many views of one weight are worth as much.")
    is_weighted = serializers.BooleanField(
        help_text="Sample rates differ: a view stands for 1 / its rate, in every number a view and every share."
    )
    is_complete = serializers.BooleanField(
        help_text="False where contributions of some views have expired: means and shares are then of those left too."
    )
    clipped_views = serializers.IntegerField(help_text="Views whose weight was cut, so that none decides alone.")
    is_too_few = serializers.BooleanField()


class EstimatesShape(Shape):
    """What it costs a page view by the measure asked for, zeros included; null where the data bears no number."""

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
    views_share = serializers.FloatField(help_text="The share of views with any such time.")
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
