"""Counts of several processes: they are added up, and only rise, whoever ends."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from ops.telemetry.counts import FOLDER_NAME, open_counts

# A process of its own: the library decides when it is imported whether counts go to files.
COUNT = """
import sys
from prometheus_client import Counter, Histogram
posts = Counter("example_posts_total", "Posts, by kind", ["kind"])
waits = Histogram("example_wait_seconds", "Waits", buckets=(0.1, 1))
posts.labels("good").inc(int(sys.argv[1]))
waits.observe(0.5)
waits.observe(5)
if sys.argv[2:]:
    print(flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(FOLDER_NAME, str(tmp_path))
    return tmp_path


def count_in_process(folder: Path, count: int, *, stays: bool = False) -> "subprocess.Popen[bytes]":
    """Counts in a process, which has ended then, or waits."""
    process = subprocess.Popen(
        [sys.executable, "-c", COUNT, str(count), *(["stay"] if stays else [])],
        env={**os.environ, FOLDER_NAME: str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    if stays:
        process.stdout.readline()
    else:
        process.communicate()
        assert process.returncode == 0
    return process


def read_counts() -> dict[str, float]:
    text = generate_latest(open_counts()).decode()
    return {
        sample.name + sample.labels.get("le", ""): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("example_")
    }


def test_counts_of_ended_processes_stay_and_take_no_more_files(folder: Path) -> None:
    living = count_in_process(folder, 1, stays=True)
    seen = []
    for number in range(1, 4):
        count_in_process(folder, 10**number)
        seen.append(read_counts())
    assert [counts["example_posts_total"] for counts in seen] == [11, 111, 1_111]
    assert [counts["example_wait_seconds_count"] for counts in seen] == [4, 6, 8]
    assert seen[-1]["example_wait_seconds_bucket0.1"] == 0
    assert seen[-1]["example_wait_seconds_bucket1.0"] == 4
    assert seen[-1]["example_wait_seconds_bucket+Inf"] == 8
    assert seen[-1]["example_wait_seconds_sum"] == 22
    ended = {"counter_ended.db", "histogram_ended.db"}
    assert {path.name for path in folder.glob("*.db")} == ended | {
        f"{kind}_{living.pid}.db" for kind in ("counter", "histogram")
    }
    living.communicate()
    assert read_counts() == seen[-1]
    assert {path.name for path in folder.glob("*.db")} == ended
    assert read_counts() == seen[-1]


def test_a_file_that_was_just_opened_is_passed_over(folder: Path) -> None:
    (folder / "counter_1.db").touch()
    count_in_process(folder, 5)
    assert read_counts()["example_posts_total"] == 5


def test_without_a_folder_a_process_says_what_it_counted_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_NAME, raising=False)
    assert b"fieldflame_ingest_envelopes_total" in generate_latest(open_counts())
