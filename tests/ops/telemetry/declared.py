"""Every metric of Fieldflame, as its code declares it."""

from dataclasses import dataclass

from prometheus_client import REGISTRY
from prometheus_client.metrics import MetricWrapperBase

from aggregate import metrics as _of_workers  # noqa: F401
from aggregate import raw_bodies as _of_bodies  # noqa: F401
from config import celery as _of_tasks  # noqa: F401
from dashboard.pages import login as _of_logins  # noqa: F401
from dashboard.web.replica import reading as _of_replicas  # noqa: F401
from ingest import joining as _of_chunks  # noqa: F401
from ingest.endpoint import absences as _of_absences  # noqa: F401
from ingest.endpoint import sentry as _of_sentry  # noqa: F401
from ingest.storage.packs import placing as _of_packs  # noqa: F401
from ops.telemetry import requests as _of_requests  # noqa: F401
from ops.telemetry.exposition import BuildCollector
from ops.telemetry.tables import STORE_GAUGES

ENDINGS = {"counter": ("_total",), "histogram": ("_bucket", "_count", "_sum"), "gauge": ("",)}


@dataclass(frozen=True, slots=True, order=True)
class Declared:
    """A metric: its name as Prometheus has it, without the endings of histograms."""

    name: str
    kind: str
    labels: tuple[str, ...]
    about: str

    @property
    def series(self) -> set[str]:
        """The names that a query may use."""
        return {self.name.removesuffix("_total") + ending for ending in ENDINGS[self.kind]}


def list_declared() -> list[Declared]:
    """Returns all metrics, sorted by name."""
    declared = [
        Declared(gauge.name, "gauge", (gauge.tag,) if gauge.tag else (), gauge.about.rstrip("."))
        for gauge in STORE_GAUGES
    ]
    for family in BuildCollector().collect():
        labels = tuple(family.samples[0].labels)
        declared.append(Declared(family.name, "gauge", labels, family.documentation.rstrip(".")))
    for collector in set(REGISTRY._collector_to_names):
        if isinstance(collector, MetricWrapperBase) and collector._name.startswith("fieldflame_"):
            ending = "_total" if collector._type == "counter" else ""
            labels = tuple(collector._labelnames)
            declared.append(Declared(collector._name + ending, str(collector._type), labels, collector._documentation))
    return sorted(declared)
