"""`import_traces`: whole files or nothing, by the endpoint's own way."""

import gzip
import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from pytest_django import Settings

from ingest.imports import import_file
from ingest.storage.storing import store_arrivals
from profcore.formats.importers.shapes import FileError
from profcore.trace.dimensions import SDKS
from projects.lifecycle import mark_for_deletion
from projects.models import Project
from tests.aggregate.posting import fold_all, is_held
from tests.corpus import corpus_envelopes
from tests.envelopes import make_envelope
from tests.ingest.endpoint.posting import IngestServer, ndjson

SAMPLES = Path(__file__).parents[1] / "data" / "imports"


def run(*arguments: object, release: str | None = "1.0.0", page: str | None = "/cart") -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    given = [word for name, value in (("--release", release), ("--page", page)) if value for word in (name, value)]
    try:
        call_command("import_traces", *map(str, arguments), "--project", "shop", *given, stdout=out, stderr=err)
    except CommandError as error:
        return out.getvalue(), f"{err.getvalue()}{error}"
    return out.getvalue(), err.getvalue()


def write(path: Path, body: bytes) -> Path:
    path.write_bytes(body)
    return path


@pytest.mark.parametrize("path", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_every_sample_comes_in_and_is_folded(endpoint: IngestServer, path: Path) -> None:
    out, err = run(path)

    assert err == ""
    traces = int(out.split(": ")[1].split(" ")[0])
    assert len(endpoint.receipts()) == traces > 0
    fold_all()
    assert {state for (state,) in endpoint.receipts("state")} == {1}
    assert endpoint.rows("SELECT count(*) FROM aggregate_func WHERE project_id = %(project)s")[0][0] > 0


@pytest.mark.parametrize(
    ("name", "sdk"), [("envelope.json", "fieldflame"), ("sentry-chunk.json", "sentry"), ("lab.cpuprofile", "other")]
)
def test_an_imported_trace_has_the_sdk_of_its_file(endpoint: IngestServer, name: str, sdk: str) -> None:
    run(SAMPLES / name)
    assert {SDKS[code] for (code,) in endpoint.receipts("sdk")} == {sdk}


def test_the_report_tells_format_place_and_what_is_missing(endpoint: IngestServer, tmp_path: Path) -> None:
    envelope = write(tmp_path / "envelope.json", json.dumps(make_envelope("a")).encode())  # an older one says so
    out, _ = run(SAMPLES / "lab.cpuprofile", envelope)

    assert out.splitlines() == [
        "lab.cpuprofile: 1 trace",
        "  1 trace from a .cpuprofile (lab.cpuprofile)",
        "    missing there: release, time, page, sampling interval, page view",
        "    Time in (program) was imported without a stack: it counts as idle unless a long task covers it.",
        "envelope.json: 1 trace",
        "  1 trace from Fieldflame's envelope (envelope.json)",
    ]


def test_importing_again_changes_nothing_packed_or_not(endpoint: IngestServer, tmp_path: Path) -> None:
    first = SAMPLES / "speedscope.json"
    run(first)
    before = endpoint.receipts("view_id::text, seq, received_at"), endpoint.bodies()

    out, _ = run(write(tmp_path / "again.gz", gzip.compress(first.read_bytes())), release="other", page="/other")
    assert out.splitlines()[0] == "again.gz: 2 traces, 2 of them stored already"
    assert (endpoint.receipts("view_id::text, seq, received_at"), endpoint.bodies()) == before


def test_an_envelope_is_stored_as_it_came(endpoint: IngestServer) -> None:
    run(SAMPLES / "envelope.json", release=None, page=None)

    assert endpoint.bodies() == [(SAMPLES / "envelope.json").read_bytes()]
    assert endpoint.pages() == ["/cart"]


def test_a_posted_trace_that_is_imported_too_is_known(endpoint: IngestServer, tmp_path: Path) -> None:
    envelopes = [make_envelope("a", seq=seq) for seq in range(3)]
    endpoint.post(envelopes[0])

    out, _ = run(write(tmp_path / "traces.ndjson", ndjson(*envelopes)))
    assert out.splitlines()[0] == "traces.ndjson: 3 traces, 1 of them stored already"
    assert len(endpoint.receipts()) == 3


def test_a_fault_anywhere_keeps_the_whole_file_out_and_the_other_files_in(
    endpoint: IngestServer, tmp_path: Path
) -> None:
    bad = write(tmp_path / "bad.ndjson", ndjson(make_envelope("a"), make_envelope("b"), make_envelope("c", seq=-1)))

    out, err = run(bad, SAMPLES / "trace.json", tmp_path / "absent")
    assert err.splitlines() == [
        "bad.ndjson › line 3: -1 is not between 0 and 2147483647. (at $.seq) [out_of_range]",
        f"{tmp_path}/absent cannot be read: No such file or directory.",
        "2 of 3 files were not imported.",
    ]
    assert out.startswith("trace.json: 1 trace\n")
    assert len(endpoint.receipts()) == 1


def test_a_dry_run_stores_nothing_and_tells_the_same(endpoint: IngestServer) -> None:
    out, _ = run(SAMPLES / "trace.json", "--dry-run")

    assert out.startswith("trace.json: 1 trace could come in\n")
    assert endpoint.receipts() == []
    assert endpoint.pages() == []


@pytest.mark.parametrize(
    ("release", "page", "path"), [(None, "/cart", "$.release"), ("1.0.0", None, "$.page"), (None, None, "$.release")]
)
def test_what_nobody_says_is_asked_for(
    endpoint: IngestServer, release: str | None, page: str | None, path: str
) -> None:
    _, err = run(SAMPLES / "trace.json", release=release, page=page)

    assert f"(at {path})" in err
    assert "none was given" in err
    assert endpoint.receipts() == []


def test_a_quota_takes_the_whole_file_or_nothing_of_it_and_known_traces_cost_nothing(
    endpoint: IngestServer, tmp_path: Path
) -> None:
    Project.objects.filter(pk=endpoint.project_id).update(max_traces_per_day=4)
    two = write(tmp_path / "two.json", json.dumps([make_envelope("a"), make_envelope("b")]).encode())
    three = write(tmp_path / "three.json", json.dumps([make_envelope(word) for word in "cde"]).encode())

    assert run(two)[1] == ""
    assert run(two)[1] == ""
    assert "quota_exceeded" in run(three)[1]
    assert len(endpoint.receipts()) == 2
    assert endpoint.rows("SELECT traces FROM ingest_daycount WHERE project_id = %(project)s") == [(2,)]


def test_the_days_quota_is_not_held_while_traces_are_stored(
    endpoint: IngestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its row would make every post of the project wait for the whole file."""
    Project.objects.filter(pk=endpoint.project_id).update(max_traces_per_day=150)
    taken = "SELECT traces FROM ingest_daycount WHERE project_id = %(project)s"
    seen: list[list[tuple[Any, ...]]] = []  # Any: rows

    def look_and_store(**options: Any) -> None:  # Any: what the real one takes
        seen.append(endpoint.rows(taken))
        store_arrivals(**options)

    monkeypatch.setattr("ingest.imports.store_arrivals", look_and_store)
    file = write(tmp_path / "many.ndjson", ndjson(*(make_envelope("a", seq=seq) for seq in range(150))))

    assert run(file)[1] == ""
    assert seen == [[], []]
    assert endpoint.rows(taken) == [(150,)]


def test_beyond_the_quota_no_statement_is_tried_and_no_page_made(
    endpoint: IngestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Project.objects.filter(pk=endpoint.project_id).update(max_traces_per_day=1)
    monkeypatch.setattr("ingest.imports.store_arrivals", None)
    file = write(tmp_path / "two.json", json.dumps([make_envelope("a"), make_envelope("b")]).encode())

    assert "no room for 2 more" in run(file)[1]
    assert endpoint.rows("SELECT * FROM ingest_group WHERE project_id = %(project)s") == []


def test_a_quota_used_up_after_the_early_look_still_refuses_all(
    endpoint: IngestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Project.objects.filter(pk=endpoint.project_id).update(max_traces_per_day=1)
    monkeypatch.setattr("ingest.imports.has_quota", lambda *_: True)
    file = write(tmp_path / "two.json", json.dumps([make_envelope("a"), make_envelope("b")]).encode())

    assert "no room for 2 more" in run(file)[1]
    assert endpoint.receipts() == []
    assert endpoint.rows("SELECT traces FROM ingest_daycount WHERE project_id = %(project)s") == []


def test_a_project_without_room_for_more_pages_takes_nothing(
    endpoint: IngestServer, settings: Settings, tmp_path: Path
) -> None:
    settings.INGEST_MAX_GROUPS = 1
    file = write(tmp_path / "f.json", json.dumps([make_envelope("a"), make_envelope("b", page="/other")]).encode())

    assert "too_many_pages" in run(file)[1]
    assert endpoint.receipts() == []


def test_a_project_whose_queue_is_full_takes_nothing(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_PENDING = 0

    assert "too_many_pending" in run(SAMPLES / "trace.json")[1]
    assert endpoint.receipts() == []


def test_a_server_without_room_takes_nothing(endpoint: IngestServer, settings: Settings) -> None:
    settings.INGEST_MAX_TOTAL_PENDING_BYTES = 0

    assert "no room for more traces" in run(SAMPLES / "trace.json")[1]
    assert endpoint.receipts() == []


def test_a_database_that_fails_halfway_keeps_nothing(
    endpoint: IngestServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def store_and_fail(**options: Any) -> None:  # Any: what the real one takes
        calls.append(len(options["arrivals"]))
        if len(calls) == 2:
            raise OperationalError("the server closed the connection")
        store_arrivals(**options)

    monkeypatch.setattr("ingest.imports.store_arrivals", store_and_fail)
    file = write(tmp_path / "many.ndjson", ndjson(*(make_envelope("a", seq=seq) for seq in range(150))))
    with pytest.raises(OperationalError):
        run(file)
    assert calls == [100, 50]
    assert endpoint.receipts() == []


def test_a_missing_partition_is_made(endpoint: IngestServer) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'ingest_rawtrace'::regclass")
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP TABLE {name}")

    assert run(SAMPLES / "trace.json")[1] == ""
    assert len(endpoint.bodies()) == 1


def test_traces_from_long_ago_are_named(endpoint: IngestServer, tmp_path: Path) -> None:
    old = make_envelope("a", timeOrigin=1_500_000_000_000, viewStart=1_500_000_000_000)

    out, _ = run(write(tmp_path / "old.json", json.dumps(old).encode()))
    assert out.splitlines()[-1] == "  1 trace from before the last 7 days: counted as 7 days old"


def test_the_importing_persons_browser_is_nobodys(endpoint: IngestServer) -> None:
    run(SAMPLES / "trace.json")

    assert endpoint.receipts("browser, device_class, isolated, sample_rate") == [(0, 0, None, None)]


def test_a_file_beyond_its_limit_is_refused_by_name(endpoint: IngestServer, settings: Settings, tmp_path: Path) -> None:
    settings.IMPORT_MAX_FILE_BYTES = 100

    _, err = run(write(tmp_path / "big.json", b" " * 101))
    assert "big.json: The file has 101 bytes; at most 100 are accepted." in err


def test_the_recorded_corpus_comes_in_as_one_file(endpoint: IngestServer, tmp_path: Path) -> None:
    lines = [json.dumps(envelope, separators=(",", ":")).encode() for _, envelope in list(corpus_envelopes())[:120]]
    file = write(tmp_path / "corpus.ndjson.gz", gzip.compress(b"\n".join(lines)))

    out, err = run(file, release=None, page=None)
    assert err == ""
    assert out.splitlines()[:2] == [
        "corpus.ndjson.gz: 120 traces",
        "  120 traces from Fieldflame's envelope (corpus.ndjson.gz › line 1)",
    ]
    assert sorted(endpoint.bodies()) == sorted(lines)


@pytest.mark.parametrize("is_gone", [False, True], ids=["marked", "gone"])
def test_a_project_that_is_being_deleted_takes_nothing(endpoint: IngestServer, is_gone: bool) -> None:
    project = Project.objects.get(pk=endpoint.project_id)
    mark_for_deletion(Project.objects.get(pk=endpoint.project_id))
    if is_gone:
        Project.objects.all().delete()
    file = SAMPLES / "trace.json"
    with pytest.raises(FileError, match="being deleted"):
        import_file(
            project=project, name=file.name, body=file.read_bytes(), release="1.0.0", page="/", now=datetime.now(UTC)
        )
    assert endpoint.receipts() == []


def test_the_last_step_of_a_deletion_waits_for_an_import(
    open_endpoint: IngestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []

    def look_and_store(**options: Any) -> None:  # Any: what the real one takes
        held.append(is_held(open_endpoint.project_id))
        store_arrivals(**options)

    monkeypatch.setattr("ingest.imports.store_arrivals", look_and_store)
    run(SAMPLES / "trace.json")
    assert held == [True]
    assert not is_held(open_endpoint.project_id)
