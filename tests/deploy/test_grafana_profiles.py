"""The data source that `deploy/grafana/profiles.yaml` provisions, and what docs/grafana.md says of it."""

from pathlib import Path
from typing import Any, Final

import yaml
from django.conf import settings
from django.urls import resolve

from dashboard.api.pyroscope.labels import LABELS, MAX_MATCHED
from dashboard.api.pyroscope.stacktraces import FLAME_NODES
from dashboard.api.slices.queries import MAX_NODES
from dashboard.api.urls import METHODS
from profcore.formats.pyroscope.profile_types import NAME, PROFILE_TYPES

ROOT: Final = Path(settings.BASE_DIR)
HOST: Final = "https://fieldflame.example"


def test_the_data_source_asks_the_address_of_a_project() -> None:
    provisioned: dict[str, Any] = yaml.safe_load((ROOT / "deploy/grafana/profiles.yaml").read_text())
    (source,) = provisioned["datasources"]
    assert source["type"] == "grafana-pyroscope-datasource"
    assert source["url"].startswith(HOST)
    match = resolve(source["url"].removeprefix(HOST) + "/querier.v1.QuerierService/SelectSeries")
    assert (match.url_name, match.kwargs) == ("pyroscope", {"slug": "shop"})
    assert source["jsonData"]["httpHeaderName1"] == "Authorization"
    assert source["secureJsonData"]["httpHeaderValue1"].startswith("Bearer $")


def test_the_document_names_all_types_labels_methods_and_bounds() -> None:
    document = (ROOT / "docs/grafana.md").read_text().partition("## Metrics")[0]
    words = [f"{NAME} - {kind.sample_type}" for kind in PROFILE_TYPES] + [*LABELS, *METHODS]
    assert [word for word in words if f"`{word}`" not in document and "<" not in word] == []
    assert [bound for bound in (FLAME_NODES, MAX_NODES, MAX_MATCHED) if f"{bound:,}" not in document] == []
