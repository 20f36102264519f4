"""How soon pages were there: counted by day, side and bucket, for no more rows than there are buckets."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest
from django.test import Client
from pytest_django import Settings

from aggregate.maintenance.retention import expire_all
from ingest.count_models import LoadCount
from profcore.vitals.page_loads import LOAD_VITALS, bucket_of
from projects.key_cache import clear_keys
from projects.models import IngestKey
from tests.ingest.endpoint.posting import IngestResponse, IngestServer

pytestmark = pytest.mark.django_db
LOAD = {"on": "1", "ttfb": "120", "fcp": "900.5", "lcp": "1400", "inp": "64"}


def tell(fields: Mapping[str, str], method: str = "GET", *, key: str = "shop-key", origin: str = "") -> IngestResponse:
    address = f"/ingest/v1/loads?{urlencode({'key': key, **fields})}"
    response = Client().generic(method, address, headers={"Origin": origin} if origin else None)
    return IngestResponse(response.status_code, response.headers, response.content)


def counted() -> dict[tuple[str, bool, int], int]:
    return {(LOAD_VITALS[row.vital], row.has_header, row.bucket): row.loads for row in LoadCount.objects.all()}


def test_each_vital_counts_once_on_its_side(endpoint: IngestServer) -> None:
    answer = tell(LOAD)
    assert (answer.status, answer.content) == (204, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    tell(LOAD)
    tell({"on": "0", "ttfb": "120"})
    assert counted() == {
        **{(name, True, bucket_of(float(LOAD[name]))): 2 for name in LOAD_VITALS},
        ("ttfb", False, bucket_of(120)): 1,
    }


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({}, "$"),
        ({"ttfb": "1"}, "$"),  # no side
        ({"on": "2", "ttfb": "1"}, "$.on"),
        ({"on": "yes", "ttfb": "1"}, "$.on"),
        ({"on": "1"}, "$"),
        ({"on": "1", "lcp": "-1"}, "$.lcp"),
        ({"on": "1", "lcp": "nan"}, "$.lcp"),
        ({"on": "1", "fcp": "inf"}, "$.fcp"),
        ({"on": "1", "inp": "soon"}, "$.inp"),
        ({"on": "1", "ttfb": "1", "x": "x" * 1_024}, "$"),
    ],
)
def test_what_is_no_load_is_refused_by_its_field(endpoint: IngestServer, fields: dict[str, str], path: str) -> None:
    answer = tell(fields)
    assert 400 <= answer.status < 500
    assert answer.json["path"] == path
    assert counted() == {}


def test_whatever_a_stranger_sends_has_few_rows(endpoint: IngestServer) -> None:
    for ms in ("0", "1e-300", "0.5", "1e300", "60000", "6e4", "7e4"):
        assert tell({"on": "1", "ttfb": ms}).status == 204
    assert counted() == {("ttfb", True, 0): 3, ("ttfb", True, bucket_of(1e9)): 4}


def test_keys_origins_methods_and_rates_are_checked(endpoint: IngestServer, settings: Settings) -> None:
    assert tell(LOAD, key="none").status == 401
    assert tell(LOAD, "POST").status == 405
    IngestKey.objects.update(origins=["https://shop.example"])
    clear_keys()
    assert tell(LOAD, origin="https://other.example").status == 403
    assert tell(LOAD, origin="https://shop.example").status == 204
    settings.INGEST_ABSENT_RATE_PER_S = 0.001
    assert tell(LOAD, origin="https://shop.example").status in (204, 429)
    assert tell(LOAD, origin="https://shop.example").status == 429


def test_old_counts_expire(endpoint: IngestServer) -> None:
    tell(LOAD)
    LoadCount.objects.filter(vital=0).update(day_on=(datetime.now(UTC) - timedelta(days=4_000)).date())
    expire_all(datetime.now(UTC))
    assert {name for name, _, _ in counted()} == {"fcp", "lcp", "inp"}
