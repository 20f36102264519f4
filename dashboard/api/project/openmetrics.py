"""The page metrics and the alerts of a project as families of OpenMetrics, and the text of families."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from prometheus_client.core import Exemplar, GaugeMetricFamily, Metric
from prometheus_client.openmetrics.exposition import generate_latest

from aggregate.selectors.project.page_metrics import BOUNDS_MS, PageMetrics, PageSeries
from alerts.reading import Standings
from profcore.alerts.states import State

# Characters of a label's value. Pages may have 400, and Prometheus keeps them in memory for each series.
MAX_LABEL_CHARS: Final = 160
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
END: Final = b"# EOF\n"
US_PER_S: Final = 1_000_000
PARTS: Final = (("script", "js_us"), ("hidden", "hidden_us"), ("engine", "engine_us"))


@dataclass(frozen=True, slots=True)
class _Families:
    """Families that `generate_latest` writes."""

    families: list[Metric]

    def collect(self) -> Iterable[Metric]:
        """Returns them."""
        return self.families


def write_families(families: Iterable[Metric]) -> bytes:
    """Returns families as OpenMetrics text, without its last line (`END`)."""
    text: bytes = generate_latest(_Families(list(families)))  # type: ignore[no-untyped-call]  # the library's own
    return text.removesuffix(END)


def clean_label(text: str) -> str:
    """Returns a text that strangers may have written as a label's value: short, and without control characters.

    Different texts stay different: one that is changed gets a digest. Two series with equal labels would be an error.
    """
    clean = CONTROL.sub("\ufffd", text)
    if clean == text and len(text) <= MAX_LABEL_CHARS:
        return text
    digest = blake2b(text.encode(), digest_size=4).hexdigest()
    return f"{clean[: MAX_LABEL_CHARS - len(digest) - 1]}…{digest}"


def page_families(project: str, metrics: PageMetrics) -> list[Metric]:
    """Returns the families of page metrics. `project` is the slug."""
    names = ["project", "page", "release"]
    window = GaugeMetricFamily(
        "fieldflame_window_seconds", "The length of the window that page metrics are about.", labels=["project"]
    )
    window.add_metric([project], (metrics.to_at - metrics.from_at).total_seconds())
    views = GaugeMetricFamily("fieldflame_page_views", "Page views that began in the window.", labels=names)
    sampled = GaugeMetricFamily(
        "fieldflame_page_sampled_views", "Those of them that the histogram is made of.", labels=names
    )
    means = GaugeMetricFamily(
        "fieldflame_page_time_per_view_seconds",
        "Mean time of a page view, by part: script, hidden or engine. The mean is exact.",
        labels=[*names, "part"],
        unit="seconds",
    )
    spread = Metric(
        "fieldflame_page_view_seconds",
        "Script and hidden time of page views. Sum and count are exact, buckets of a sample.",
        "gaugehistogram",
        "seconds",
    )
    for (page, release), series in metrics.series.items():
        labels = [project, clean_label(page), clean_label(release)]
        views.add_metric(labels, series.views)
        sampled.add_metric(labels, series.sampled_views)
        for part, column in PARTS:
            means.add_metric([*labels, part], getattr(series.time, column) / US_PER_S / series.views)
        if series.sampled_views:
            _add_histogram(spread, dict(zip(names, labels, strict=True)), series)
    return [window, views, sampled, means, spread]


def alert_families(project: str, standings: Iterable[Standings]) -> list[Metric]:
    """Returns the families of a project's alerts: how many of their subjects have each state."""
    names = ["project", "alert_id", "alert", "kind"]
    subjects = GaugeMetricFamily(
        "fieldflame_alert_subjects",
        "Subjects of an alert by their state, as a page in a release.",
        labels=[*names, "state"],
    )
    evaluated = GaugeMetricFamily(
        "fieldflame_alert_evaluated_timestamp_seconds",
        "When an alert was evaluated last.",
        labels=names,
        unit="seconds",
    )
    for row in standings:
        alert = row.alert
        if not alert.is_on:
            continue
        labels = [project, str(alert.id), clean_label(alert.name), alert.kind]
        for state in State:
            subjects.add_metric([*labels, state.name.lower()], row.counts.get(state, 0))
        if alert.evaluated_at is not None:
            evaluated.add_metric(labels, alert.evaluated_at.timestamp())
    return [subjects, evaluated]


def _add_histogram(family: Metric, labels: dict[str, str], series: PageSeries) -> None:
    bounds = [repr(bound / 1000) for bound in BOUNDS_MS] + ["+Inf"]
    for bound, count, bucket in zip(bounds, series.views_up_to(), series.buckets, strict=True):
        example = bucket.example
        family.add_sample(
            f"{family.name}_bucket",
            {**labels, "le": bound},
            count,
            exemplar=Exemplar({"view_id": str(example.view_id)}, example.took_us / US_PER_S) if example else None,
        )
    family.add_sample(f"{family.name}_gcount", labels, series.views)
    family.add_sample(f"{family.name}_gsum", labels, (series.time.js_us + series.time.hidden_us) / US_PER_S)
