"""Metrics in the Prometheus text format. Each is declared with name, type, unit and closed tag sets.

No tag is a project, route, release, page or URL: strangers choose those, and each value is another series.
docs/telemetry.md lists all of them.
"""

import platform
from collections.abc import Iterator

from django.conf import settings
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from ops.telemetry.counts import open_counts
from ops.telemetry.tables import KEPT_GAUGES
from ops.version import VERSION
from profcore.kernel import find_kernel
from profcore.sums.fold import FOLD_VERSION


class BuildCollector(Collector):
    """Collects what runs here: the version of Fieldflame, and which twin of the compiled kernel folds."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        build = GaugeMetricFamily(
            "fieldflame_build_info",
            "1, with the versions of Fieldflame, of its rules for sums, and of Python.",
            labels=["version", "fold_version", "python"],
        )
        build.add_metric([VERSION, str(FOLD_VERSION), platform.python_version()], 1)
        yield build
        kernel = GaugeMetricFamily("fieldflame_kernel", "1 for the twin of the fold in use, else 0.", labels=["twin"])
        used = find_kernel(settings.KERNEL).name
        for twin in ("compiled", "pure"):
            kernel.add_metric([twin], float(twin == used))
        yield kernel


def render_metrics(*, with_stores: bool = True) -> bytes:
    """Returns all metrics in the text format, those of the stores only if wanted: asking takes statements."""
    registry = CollectorRegistry()
    registry.register(BuildCollector())
    if with_stores:
        registry.register(KEPT_GAUGES)
    return generate_latest(registry) + generate_latest(open_counts())
