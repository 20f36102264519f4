"""Folding through PgBouncer in transaction mode, where no transaction may count on the session of the one before."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.conf import settings as django_settings

from projects.creation import create_project
from tests.aggregate.posting import database_url, post, rows
from tests.envelopes import make_envelope
from tests.pgbouncer.bouncer import run_bouncer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.kills, pytest.mark.slow(30)]

LIMIT_S = 300
WORKERS = 3
TRACES = 60


@pytest.fixture
def pooled_url(transactional_db: None) -> Iterator[str]:
    """The address of this test's database through PgBouncer."""
    with run_bouncer(database_url()) as url:
        yield url


def start_worker(url: str, module: str = "tests.pgbouncer.worker", **environment: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", module],
        cwd=django_settings.BASE_DIR,
        env={**os.environ, "DATABASE_URL": url, "FIELDFLAME_FOLD_BATCH_TRACES": "2", **environment},
    )


def test_every_trace_is_folded_once_and_at_its_first_attempt(pooled_url: str) -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", *(make_envelope(f"v{n % 30}", "A\nA B", seq=n // 30, page=f"/p{n % 3}") for n in range(TRACES)))
    workers = [start_worker(pooled_url) for _ in range(WORKERS)]
    assert [worker.wait(LIMIT_S) for worker in workers] == [0] * WORKERS
    assert rows("SELECT state, attempts, count(*) FROM ingest_tracereceipt GROUP BY 1, 2") == [(1, 1, TRACES)]
    assert rows("SELECT sum(traces), sum(views), sum(js_us) FROM aggregate_cell") == [(TRACES, 30, 20_000 * TRACES)]
