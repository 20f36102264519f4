"""The server as it is: the checks ask a real PostgreSQL and Valkey, folders with modes, and a certificate."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import OperationalError, connection
from pytest_django import Settings

from aggregate.doctor.findings import Finding, State
from aggregate.doctor.server import disk_checks, examining, work_checks
from aggregate.doctor.server.certificate_checks import check_certificate
from aggregate.doctor.server.disk_checks import Room, check_disk
from aggregate.doctor.server.folder_checks import check_folders, find_open_files
from aggregate.doctor.server.postgres_checks import SLOTS, ReplicationSlot, check_replication, read_rows
from aggregate.doctor.server.settings_checks import check_settings
from aggregate.doctor.server.work_checks import check_jobs, check_pending, check_retention
from aggregate.maintenance.retention import list_partitions
from aggregate.maintenance.store_sizes import measure_store
from aggregate.models import Job, StoreSize
from ingest.models import Receipt
from ingest.storage.partitions import create_partitions
from tests.builders import make_cell, make_project, make_receipt
from tests.deploy.proxy import require_program

NOW = datetime(2026, 11, 23, 12, 30, tzinfo=UTC)


def states(findings: Iterator[Finding]) -> list[tuple[str, State]]:
    return [(finding.check, finding.state) for finding in findings]


@pytest.mark.django_db
def test_every_check_gets_an_answer(settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(work_checks, "WORKER_WAIT_S", 0.1)
    report = examining.examine_server()
    assert [finding for finding in report.findings if "cannot be looked at" in finding.sentence] == []
    by_check = {finding.check: finding.state for finding in report.findings}
    assert by_check["durability"] == State.PROBLEM  # the tests' server is a throw-away one
    assert by_check["workers"] == State.PROBLEM
    wanted = "settings permissions certificate postgres versions migrations connections replication disk pending jobs"
    wanted += " retention quotas valkey clocks"
    expected = dict.fromkeys(wanted.split(), State.OK) | {"certificate": State.SKIPPED}
    assert {name: by_check[name] for name in expected} == expected, report.findings
    for finding in report.findings:
        assert (finding.state == State.SKIPPED) <= finding.line.startswith("FIELDFLAME_"), finding  # what to set


@pytest.mark.django_db
def test_a_store_that_does_not_answer_is_one_problem(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise OperationalError("connection refused\nIs the server running?")

    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    monkeypatch.setattr(connection, "ensure_connection", fail)
    findings = [one for one in examining.examine_server().findings if one.check in ("postgres", "valkey")]
    assert [one.state for one in findings] == [State.PROBLEM, State.PROBLEM]
    assert findings[0].sentence == "PostgreSQL does not answer: connection refused."


# --- settings and folders ---


@pytest.mark.parametrize(
    ("name", "value", "state"),
    [
        ("DEBUG", True, State.PROBLEM),
        ("IS_SECRET_KEPT", False, State.PROBLEM),
        ("SECRET_KEY", "x" * 31, State.WARNING),
        ("ALLOWED_HOSTS", ["a.example", "*"], State.WARNING),
        ("BEHIND_PROXY", True, State.WARNING),
        ("HTTPS", True, State.OK),
    ],
)
def test_unsafe_settings_are_found(settings: Settings, name: str, value: object, state: State) -> None:
    settings.SECRET_KEY, settings.IS_SECRET_KEPT, settings.ALLOWED_HOSTS = "x" * 32, True, ["a.example"]
    assert states(check_settings(NOW)) == [("settings", State.OK)]
    setattr(settings, name, value)
    assert states(check_settings(NOW)) == [("settings", state)]


@pytest.mark.parametrize(
    ("name", "mode", "state"),
    [
        ("secret_key", 0o640, State.PROBLEM),
        ("admin_password", 0o604, State.PROBLEM),
        ("environment", 0o644, State.PROBLEM),
        ("backups", 0o755, State.PROBLEM),
        ("logs", 0o750, State.WARNING),
        (".", 0o777, State.PROBLEM),
        ("static", 0o755, State.OK),
    ],
)
def test_open_secrets_are_found(settings: Settings, tmp_path: Path, name: str, mode: int, state: State) -> None:
    settings.DATA_DIR = tmp_path
    tmp_path.chmod(0o711)
    for file in ("secret_key", "admin_password", "environment"):
        (tmp_path / file).touch(0o600)
    for folder in ("logs", "backups", "static"):
        (tmp_path / folder).mkdir(0o700)
    assert states(check_folders(NOW)) == [("permissions", State.OK)]
    (tmp_path / name).chmod(mode)
    assert states(check_folders(NOW)) == [("permissions", state)]


def test_a_secrets_file_that_all_may_read_is_found(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.touch(0o600)
    environ = {"FIELDFLAME_SECRET_KEY_FILE": str(path), "OTHER_FILE": "/etc/passwd", "REDIS_URL_FILE": "/run/secrets/a"}
    assert states(find_open_files(environ)) == []
    path.chmod(0o604)
    assert states(find_open_files(environ)) == [("permissions", State.PROBLEM)]


# --- the certificate ---


@pytest.fixture
def served(tmp_path: Path) -> Iterator[int]:
    """The port of a server for `localhost`, whose certificate signs itself and ends in two days."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = [require_program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    is_over = threading.Event()

    def serve(listening: socket.socket) -> None:
        while not is_over.is_set():
            try:
                connected, _ = listening.accept()
                with connected:
                    connected.settimeout(60)
                    with context.wrap_socket(connected, server_side=True) as secured:
                        secured.recv(1)
            except OSError:
                continue

    with socket.create_server(("localhost", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,), daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        is_over.set()
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_the_certificate_is_judged_as_browsers_do(
    served: int, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.ADDRESS = f"https://localhost:{served}/"
    (refused,) = check_certificate(datetime.now(UTC))
    assert refused.sentence == "Browsers refuse the certificate of localhost: self-signed certificate."
    assert refused.state == State.PROBLEM
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "certificate.pem"))
    (short,) = check_certificate(datetime.now(UTC))
    assert (short.sentence, short.state) == (
        "The certificate of localhost is valid for 1 more day.",
        State.PROBLEM,
    )


@pytest.mark.parametrize(
    ("address", "state"),
    [("", State.SKIPPED), ("http://a.example", State.WARNING), ("https://localhost:1", State.WARNING)],
)
def test_an_address_without_a_certificate_is_said(settings: Settings, address: str, state: State) -> None:
    settings.ADDRESS = address
    assert states(check_certificate(NOW)) == [("certificate", state)]


# --- what PostgreSQL says ---


@pytest.mark.django_db
def test_old_traces_jobs_and_cells_are_found_in_the_tables() -> None:
    now = datetime.now(UTC)
    shop = make_project("shop")
    assert states(check_pending(now)) == [("pending", State.OK)]
    assert states(check_jobs(now)) == [("jobs", State.OK)]
    assert states(check_retention(now)) == [("retention", State.OK)]
    make_receipt(shop, state=Receipt.State.PENDING, age=timedelta(minutes=6))
    Job(project=shop, id=uuid4(), kind="x", params=[], link="", created_at=now - timedelta(hours=1)).save()
    shop.keep_cells_days = shop.keep_views_days = shop.keep_raw_days = 3
    shop.save()
    make_cell(shop, starts_at=now.replace(minute=0, second=0, microsecond=0) - timedelta(days=7))
    create_partitions((now - timedelta(days=6)).date(), 1)
    (pending,) = check_pending(now)
    assert pending.sentence.startswith("1 traces wait for their fold, the oldest for 6 minutes.")
    (job,) = check_jobs(now)
    assert job.sentence.startswith("1 job waits for a worker, the oldest for 60 minutes.")
    late = list(check_retention(now))
    assert [finding.state for finding in late] == [State.WARNING, State.WARNING]
    oldest = min(day for _, day in list_partitions())  # a test before this one may have left some
    assert oldest <= (now - timedelta(days=6)).date()
    assert f"Raw traces of {oldest} are past" in late[0].sentence


@pytest.mark.django_db(transaction=True)
def test_a_slot_is_read_with_what_it_holds_back() -> None:
    name = f"doctor_{uuid4().hex[:8]}"
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_create_physical_replication_slot(%s, true)", [name])
        try:
            slots = {slot.name: slot for row in read_rows(SLOTS) if (slot := ReplicationSlot(*row))}
            assert (slots[name].is_active, slots[name].status) == (False, "reserved")
            assert 0 <= slots[name].held_bytes < 2**30
            assert states(check_replication(NOW)) == [("replication", State.OK)]
        finally:
            cursor.execute("SELECT pg_drop_replication_slot(%s)", [name])


@pytest.mark.django_db
def test_growth_is_measured_once_an_hour_and_the_disk_is_counted_in_days(monkeypatch: pytest.MonkeyPatch) -> None:
    measure_store(NOW)
    measure_store(NOW + timedelta(minutes=29))
    (first,) = StoreSize.objects.all()
    assert first.measured_at == NOW.replace(minute=0)
    measure_store(NOW + timedelta(days=61))
    assert StoreSize.objects.filter(pk=first.pk).count() == 0  # old ones are deleted
    StoreSize.objects.all().delete()
    StoreSize.objects.create(measured_at=NOW - timedelta(days=2), database_bytes=0)
    monkeypatch.setattr(disk_checks, "find_room", lambda size: Room(size, 10 * size))
    (finding,) = check_disk(NOW)  # all of it came in two days, and as much is free
    assert (finding.state, "enough for 2 days." in finding.sentence) == (State.PROBLEM, True)


@pytest.mark.django_db
def test_the_disk_is_found_where_it_can_be_seen(settings: Settings, tmp_path: Path) -> None:
    settings.DATA_DIR, settings.DATABASE_DISK_GB = tmp_path, 5
    assert disk_checks.find_room(2 * 10**9) == Room(3 * 10**9, 5 * 10**9)
    (tmp_path / "postgres").mkdir()
    room = disk_checks.find_room(0)
    assert room is not None
    assert room.all_bytes > room.free_bytes > 0
