"""What workers and beat count, and the address where they say it."""

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from celery.signals import task_postrun, task_prerun, worker_init
from django.test import Client
from prometheus_client import REGISTRY
from pytest_django import Settings

from aggregate.fold import pending
from aggregate.fold.pending import BatchOutcome, ClaimLost, fold_pending_batch
from aggregate.jobs.requests import start_job
from aggregate.jobs.runs import JobResult, JobRun, run_next_job
from aggregate.maintenance.retention import expire_all
from aggregate.tasks import expire, sweep
from aggregate.worker_leases import own_token
from config.celery import app
from ingest.models import Receipt
from ops.telemetry.serving import may_read, open_server, serve_beside
from ops.telemetry.tasks import SENT_AT, begin_series, list_tasks
from profcore.times import DAY
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.posting import post
from tests.envelopes import make_envelope

WAIT_LIMIT_S = 120.0


def read(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"fieldflame_{name}", labels) or 0


@pytest.fixture
def key() -> str:
    create_project(slug="a-name-that-somebody-chose", key="shop-key", origins=["*"])
    return "shop-key"


@pytest.mark.django_db
def test_a_batch_is_counted_with_its_traces_and_their_delay(key: str) -> None:
    names = ("fold_batch_traces_count", "fold_batch_traces_sum", "fold_delay_seconds_count")
    before = [read(name) for name in names]
    batches = read("fold_batch_seconds_count", outcome="folded")
    folded = read("fold_traces_total", outcome="folded", reason="")
    for seq in range(3):
        post(key, make_envelope("v", seq=seq))
    assert fold_pending_batch() is BatchOutcome.FOLDED
    assert [read(name) - old for name, old in zip(names, before, strict=True)] == [1, 3, 3]
    assert read("fold_batch_seconds_count", outcome="folded") == batches + 1
    assert read("fold_traces_total", outcome="folded", reason="") == folded + 3


@pytest.mark.django_db
def test_rejected_traces_and_lost_claims_are_counted(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rejected = read("fold_traces_total", outcome="rejected", reason="body_missing")
    lost, given_back = read("claims_lost_total"), read("fold_batch_seconds_count", outcome="given_back")
    post(key, make_envelope())

    def lose(claim: object) -> None:
        raise ClaimLost

    with monkeypatch.context() as patch:
        patch.setattr(pending, "write_batch", lose)
        assert fold_pending_batch() is BatchOutcome.GIVEN_BACK
    assert read("claims_lost_total") == lost + 1
    assert read("fold_batch_seconds_count", outcome="given_back") == given_back + 1
    Receipt.objects.update(claimed_until=None)  # time stands still in a test's transaction
    monkeypatch.setattr("aggregate.fold.batch.load_raw_bodies", lambda *_: {})
    fold_pending_batch()
    assert read("fold_traces_total", outcome="rejected", reason="body_missing") == rejected + 1
    assert own_token()


@pytest.mark.django_db
def test_maintenance_and_jobs_are_counted_by_kind(key: str) -> None:
    post(key, make_envelope())
    fold_pending_batch()
    before = read("maintenance_total", kind="cells")
    expire_all(datetime.now(UTC) + 500 * DAY)
    assert read("maintenance_total", kind="cells") == before + 1
    done = read("job_seconds_count", kind="functions", outcome="done")
    start_job(Project.objects.get().pk, kind="functions", params=[("release", "1")], link="")

    def answer(run: JobRun) -> JobResult:
        return JobResult("text/plain", "a.txt", [b"x"])

    assert run_next_job(answer)
    assert read("job_seconds_count", kind="functions", outcome="done") == done + 1


@pytest.mark.django_db
def test_a_task_is_timed_and_so_is_its_wait() -> None:
    ran, waited = read("task_seconds_count", task=expire.name), read("task_wait_seconds_sum", task=expire.name)
    done = read("tasks_total", task=expire.name, outcome="done")
    expire.apply(task_id="one", headers={})
    assert read("task_seconds_count", task=expire.name) == ran + 1
    assert read("tasks_total", task=expire.name, outcome="done") == done + 1
    expire.push_request(**{"id": "two", SENT_AT: datetime.now(UTC).timestamp() - 10})
    try:
        task_prerun.send(sender=expire, task_id="two", task=expire)
        task_postrun.send(sender=expire, task_id="two", task=expire, state="RETRY")
    finally:
        expire.pop_request()
    assert read("task_wait_seconds_sum", task=expire.name) >= waited + 9
    assert read("tasks_total", task=expire.name, outcome="retried") >= 1


def test_a_message_says_when_it_was_sent() -> None:
    sent = read("tasks_sent_total", task=sweep.name)
    headers: dict[str, object] = {}
    from celery.signals import before_task_publish

    before_task_publish.send(sender=sweep.name, headers=headers)
    assert isinstance(headers[SENT_AT], float)
    assert read("tasks_sent_total", task=sweep.name) == sent + 1
    before_task_publish.send(sender="a-name-that-a-stranger-chose", headers={})
    assert REGISTRY.get_sample_value("fieldflame_tasks_sent_total", {"task": "a-name-that-a-stranger-chose"}) is None


def test_series_begin_with_the_worker() -> None:
    assert begin_series in [receiver() for _, receiver in worker_init.receivers]

    class Sender:
        app = app

    begin_series(sender=Sender())
    assert {"aggregate.sweep", "ingest.make_partitions", "dashboard.run_jobs"} <= set(list_tasks(app))
    for name in list_tasks(app):
        assert REGISTRY.get_sample_value("fieldflame_tasks_total", {"task": name, "outcome": "failed"}) is not None


@pytest.mark.django_db
def test_nothing_that_somebody_named_becomes_a_label(key: str, client: Client) -> None:
    envelope = make_envelope("v", release="a-release-of-theirs", page="/a-page-of-theirs")
    post(key, envelope)
    fold_pending_batch()
    assert Receipt.objects.get().state == Receipt.State.FOLDED
    client.get("/a-path-of-theirs")
    text = client.get("/metrics").content.decode()
    assert [word for word in ("of-theirs", "somebody-chose", "shop-key") if word in text] == []


@pytest.fixture
def address(settings: Settings) -> Iterator[str]:
    settings.METRICS_TOKEN = "a-token"
    with open_server("127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(WAIT_LIMIT_S)


def test_a_part_without_pages_says_its_counts_and_nothing_of_the_tables(address: str) -> None:
    with urllib.request.urlopen(f"{address}/metrics", timeout=WAIT_LIMIT_S) as answer:
        text = answer.read().decode()
        assert answer.headers["Content-Type"].startswith("text/plain")
    assert "fieldflame_build_info" in text
    assert "fieldflame_fold_batch_seconds_bucket" in text
    assert "fieldflame_database_up" not in text
    with pytest.raises(urllib.error.HTTPError, match="404"):
        urllib.request.urlopen(f"{address}/", timeout=WAIT_LIMIT_S)


def test_others_than_this_machine_need_the_token(settings: Settings) -> None:
    settings.METRICS_TOKEN = "a-token"
    assert may_read("127.0.0.1", "", is_proxied=False)
    assert may_read("192.0.2.7", "Bearer a-token", is_proxied=True)
    assert not may_read("127.0.0.1", "", is_proxied=True)
    assert not may_read("192.0.2.7", "Bearer other", is_proxied=False)
    settings.METRICS_TOKEN = ""
    assert not may_read("192.0.2.7", "Bearer ", is_proxied=False)


def test_a_taken_port_is_one_line_in_the_log(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    settings.METRICS_HOST = "127.0.0.1"
    with open_server("127.0.0.1", 0) as server:
        serve_beside(server.server_port)
    (line,) = caplog.records
    assert line.exc_info is None
    assert f"port {server.server_port} of 127.0.0.1 cannot be used (Address already in use)" in line.getMessage()
