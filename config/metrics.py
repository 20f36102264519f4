"""Metrics, declared before use: name, type, unit and closed tag sets (never a route, release or URL).

Counters of a process are summed over processes through files, if `PROMETHEUS_MULTIPROC_DIR` names a folder for them.
Values that the tables have are read on each request, so they are the same whichever process answers.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.db import Error, connection
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from aggregate.models import Job
from ingest.models import PENDING, REJECTED
from profcore.kernel import find_kernel


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreGauge:
    """A gauge read by one query; its rows are (value,) or (tag, value). The query must stay cheap on large tables."""

    name: str
    unit: str
    about: str
    query: str
    tag: str | None = None  # a closed set: profcore.errors.Reason


STORE_GAUGES: Final = (
    StoreGauge(name="fieldflame_projects", unit="", about="Projects.", query="SELECT count(*) FROM ingest_project"),
    StoreGauge(
        name="fieldflame_traces_pending",
        unit="",
        about="Accepted traces that are not folded yet.",
        query=f"SELECT count(*) FROM ingest_receipt WHERE state = {PENDING}",
    ),
    StoreGauge(
        name="fieldflame_traces_oldest_pending",
        unit="seconds",
        about="The time since the oldest pending trace arrived.",
        query=f"""SELECT coalesce(extract(epoch FROM now() - min(received_at)), 0)
                  FROM ingest_receipt WHERE state = {PENDING}""",
    ),
    StoreGauge(
        name="fieldflame_traces_rejected",
        unit="",
        about="Accepted traces that the fold rejected.",
        query=f"SELECT count(*) FROM ingest_receipt WHERE state = {REJECTED}",
    ),
    # Receipts are many and cells are few, so folded traces are counted by cells.
    StoreGauge(
        name="fieldflame_traces_folded",
        unit="",
        about="Folded traces in the cells.",
        query="SELECT coalesce(sum(traces), 0) FROM aggregate_cell WHERE merged_into IS NULL",
    ),
    StoreGauge(
        name="fieldflame_jobs_unfinished",
        unit="",
        about="Jobs that are queued or running.",
        query=f"SELECT count(*) FROM aggregate_job WHERE state <= {Job.State.RUNNING.value}",
    ),
    StoreGauge(
        name="fieldflame_refused_envelopes",
        unit="",
        about="Envelopes that the door refused and whose project it knew, by reason.",
        query="SELECT reason, sum(count) FROM ingest_refusal GROUP BY reason ORDER BY reason",
        tag="reason",
    ),
)


class StoreCollector(Collector):
    """Collects the gauges of the tables. If the database does not answer, it only yields `fieldflame_database_up` 0."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        try:
            families = [read_gauge(gauge) for gauge in STORE_GAUGES]
        except Error:
            families = []
        up = GaugeMetricFamily("fieldflame_database_up", "1 if the database answered this request, else 0.")
        up.add_metric([], 1 if families else 0)
        yield up
        yield from families


class KernelCollector(Collector):
    """Collects which twin of the compiled kernel the process that answers uses: 1 for it, 0 for the other."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        family = GaugeMetricFamily("fieldflame_kernel", "1 for the twin of the fold in use, else 0.", labels=["twin"])
        used = find_kernel(settings.KERNEL).name
        for twin in ("compiled", "pure"):
            family.add_metric([twin], float(twin == used))
        yield family


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
    own.register(KernelCollector())
    counted: CollectorRegistry = REGISTRY
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        counted = CollectorRegistry()
        MultiProcessCollector(counted)  # type: ignore[no-untyped-call]  # the library has no types here
    return generate_latest(own) + generate_latest(counted)
