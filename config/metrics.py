"""Metrics, declared before use: name, type, unit and closed tag sets (never a route, release or URL).

What is counted in a process is summed over processes through files, where `PROMETHEUS_MULTIPROC_DIR` names a folder for
them. What the tables know is read from them when asked, so that it is true whichever process answers.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from django.db import Error, connection
from prometheus_client import REGISTRY, CollectorRegistry, Counter, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

INGEST_ENVELOPES: Final = Counter(
    "fieldflame_ingest_envelopes_total",
    "Envelopes the door answered, by outcome (accepted, refused) and reason (a profcore.errors.Reason, or empty)",
    ["outcome", "reason"],
)


@dataclass(frozen=True, slots=True)
class StoreGauge:
    """A gauge read by one query; its rows are (value,) or (tag, value). The query must stay cheap on large tables."""

    name: str
    unit: str
    about: str
    query: str
    tag: str | None = None  # a closed set: profcore.errors.Reason


STORE_GAUGES: Final = (
    StoreGauge("fieldflame_projects", "", "Projects.", "SELECT count(*) FROM ingest_project"),
    StoreGauge(
        "fieldflame_traces_pending",
        "",
        "Accepted traces that wait.",
        "SELECT count(*) FROM ingest_receipt WHERE state = 0",
    ),
    StoreGauge(
        "fieldflame_traces_oldest_pending",
        "seconds",
        "How long the oldest of them waits.",
        "SELECT coalesce(extract(epoch FROM now() - min(received_at)), 0) FROM ingest_receipt WHERE state = 0",
    ),
    StoreGauge(
        "fieldflame_traces_rejected", "", "Traces set aside.", "SELECT count(*) FROM ingest_receipt WHERE state = 2"
    ),
    # Receipts are many and cells are few: what was folded is read from the cells.
    StoreGauge(
        "fieldflame_traces_folded",
        "",
        "Traces in the cells.",
        "SELECT coalesce(sum(traces), 0) FROM aggregate_cell WHERE merged_into IS NULL",
    ),
    StoreGauge(
        "fieldflame_jobs_unfinished",
        "",
        "Jobs that wait or run.",
        "SELECT count(*) FROM aggregate_job WHERE state <= 1",
    ),
    StoreGauge(
        "fieldflame_refused_envelopes",
        "",
        "Envelopes the door refused and could ascribe to a project, by reason.",
        "SELECT reason, sum(count) FROM ingest_refusal GROUP BY reason ORDER BY reason",
        tag="reason",
    ),
)


class StoreCollector(Collector):
    """Reads the gauges of the tables; where the database does not answer, `fieldflame_database_up` alone is told: 0."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        try:
            families = [read_gauge(gauge) for gauge in STORE_GAUGES]
        except Error:
            families = []
        up = GaugeMetricFamily("fieldflame_database_up", "1 if the database answered this request, else 0.")
        up.add_metric([], 1 if families else 0)
        yield up
        yield from families


def read_gauge(gauge: StoreGauge) -> GaugeMetricFamily:
    family = GaugeMetricFamily(gauge.name, gauge.about, labels=[gauge.tag] if gauge.tag else [], unit=gauge.unit)
    with connection.cursor() as cursor:
        cursor.execute(gauge.query)
        for row in cursor.fetchall():
            family.add_metric([str(tag) for tag in row[:-1]], float(row[-1]))
    return family


def render_metrics() -> bytes:
    """Returns all metrics in the Prometheus text format."""
    own = CollectorRegistry()
    own.register(StoreCollector())
    counted: CollectorRegistry = REGISTRY
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        counted = CollectorRegistry()
        MultiProcessCollector(counted)  # type: ignore[no-untyped-call]  # the library has no types here
    return generate_latest(own) + generate_latest(counted)
