"""`deploy/start` runs the same processes, with the same flags, as `./run` does."""

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from ops.supervisor.children import Child
from ops.supervisor.folder import DataFolder
from ops.supervisor.services import make_beat_child, make_web_child, make_worker_child
from tests.deploy.files import DEPLOY, SYSTEMD, read_services, read_unit

FAKE_PYTHON = """#!/bin/sh
[ "$*" != "-m ops.checks" ] || exit 0
exec {python} -c 'import json, os, sys; print(json.dumps([sys.argv[1:], dict(os.environ)]))' "$@"
"""
COUNTS = {
    "FIELDFLAME_WEB_PROCESSES": "5",
    "FIELDFLAME_WEB_THREADS": "7",
    "FIELDFLAME_WEB_CONNECTIONS": "300",
    "FIELDFLAME_WEB_HEADER_WAIT_MS": "4000",
    "FIELDFLAME_WEB_MAX_MB": "333",
}


@pytest.fixture
def installation(tmp_path: Path) -> Path:
    """An installation whose Python says what it was asked to run."""
    (tmp_path / "deploy").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(DEPLOY / "start", tmp_path / "deploy" / "start")
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(FAKE_PYTHON.format(python=shutil.which("python3")), encoding="utf-8")
    python.chmod(0o755)
    return tmp_path


def run_start(installation: Path, *arguments: str, **environment: str) -> tuple[list[str], dict[str, str]]:
    """Returns (words after `python`, environment) that `deploy/start` ends in."""
    done = subprocess.run(
        [installation / "deploy" / "start", *arguments],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    asked, seen = json.loads(done.stdout)
    return asked, seen


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    folder = DataFolder(tmp_path / "data")
    folder.create()
    return folder


def make_children(folder: DataFolder, environment: dict[str, str]) -> dict[str, Child]:
    return {
        "web": make_web_child(folder, environment, host="0.0.0.0", port=8123),
        "worker": make_worker_child(folder, environment),
        "beat": make_beat_child(folder, environment),
    }


@pytest.mark.parametrize("part", ["web", "worker", "beat"])
@pytest.mark.parametrize("counts", [{}, COUNTS])
def test_every_part_is_started_as_run_starts_it(
    installation: Path, folder: DataFolder, part: str, counts: dict[str, str]
) -> None:
    environment = {"FIELDFLAME_DATA": str(folder.path), "FIELDFLAME_HOST": "0.0.0.0", "FIELDFLAME_PORT": "8123"}
    asked, seen = run_start(installation, part, **environment, **counts)
    child = make_children(folder, counts)[part]
    assert asked == list(child.command[1:])
    for name in ("MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_"):
        assert seen.get(name) == child.environment.get(name)
    # In `./run` all parts share a folder, and the web server reads it; here each part serves its own.
    folders = {"web": "metrics", "worker": "metrics-worker", "beat": "metrics-beat"}
    assert seen["PROMETHEUS_MULTIPROC_DIR"] == str(folder.path / folders[part])


@pytest.mark.parametrize(("part", "queue"), [("fold", "celery"), ("maintenance", "maintenance")])
def test_a_worker_of_one_kind_of_work_is_a_worker_with_one_queue(
    installation: Path, folder: DataFolder, part: str, queue: str
) -> None:
    asked, _ = run_start(installation, part, "--concurrency", "1")
    whole = list(make_worker_child(folder, {}).command[1:])
    # Each has a name of its own: of two workers of one name on a host, the doctor would see one.
    assert asked == [*whole, "--queues", queue, "--hostname", f"{part}@%h", "--concurrency", "1"]


@pytest.mark.parametrize(
    ("part", "name"), [("web", "metrics"), ("maintenance", "metrics-maintenance"), ("beat", "metrics-beat")]
)
def test_no_part_counts_on_from_a_former_run(installation: Path, folder: DataFolder, part: str, name: str) -> None:
    counts = folder.path / name
    counts.mkdir()
    (counts / "counter_1.db").write_bytes(b"old")
    run_start(installation, part, FIELDFLAME_DATA=str(folder.path))
    assert list(counts.iterdir()) == []


def test_a_part_whose_data_folder_cannot_be_written_counts_elsewhere(installation: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    _, seen = run_start(installation, "worker", FIELDFLAME_DATA=str(tmp_path / "file"), TMPDIR=str(tmp_path))
    assert Path(seen["PROMETHEUS_MULTIPROC_DIR"]).parent == tmp_path


def test_connections_beyond_the_limit_of_open_files_are_refused_with_what_to_do(
    installation: Path, folder: DataFolder
) -> None:
    too_many = {"FIELDFLAME_WEB_CONNECTIONS": "2000"}
    start = shlex.quote(str(installation / "deploy" / "start"))
    done = subprocess.run(
        ["sh", "-c", f"ulimit -n 1000 && exec {start} web"],
        env={"PATH": os.environ["PATH"], "FIELDFLAME_DATA": str(folder.path), **too_many},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 78
    assert "FIELDFLAME_WEB_CONNECTIONS is 2000: lower it, or allow 2512 open files." in done.stderr


def test_migrate_asks_nobody_and_manage_takes_any_command(installation: Path) -> None:
    manage = str(installation / "manage.py")
    assert run_start(installation, "migrate")[0] == [manage, "migrate", "--no-input"]
    asked, _ = run_start(installation, "manage", "create_project", "shop", "--origin", "https://shop.example")
    assert asked == [manage, "create_project", "shop", "--origin", "https://shop.example"]


@pytest.mark.parametrize("arguments", [(), ("wbe",)])
def test_an_unknown_part_is_told_the_known_ones(installation: Path, arguments: tuple[str, ...]) -> None:
    done = subprocess.run([installation / "deploy" / "start", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 64
    assert "web|worker|fold|maintenance|beat|migrate|manage" in done.stderr


def test_every_part_gets_the_time_to_stop_that_run_gives_it(folder: DataFolder) -> None:
    services = read_services()
    unit = read_unit(SYSTEMD / "fieldflame@.service")
    for part, child in make_children(folder, {}).items():
        assert services[part]["stop_grace_period"] == f"{child.stop_limit_s:.0f}s"
        assert float(unit["Service.TimeoutStopSec"][0]) >= child.stop_limit_s
