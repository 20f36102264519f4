"""Several test processes share a server, and nothing in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import redis
from execnet import XSpec

from config.env import make_broker_url
from tests.runner.shares import VALKEY_DATABASES, read_database_number, share_out_valkey, with_database

ROOT = Path(__file__).resolve().parent.parent.parent
CONFTEST = "from tests.conftest import pytest_xdist_setupnodes\n"
NOTES_ITS_ADDRESS = """
import os, pathlib

def test_it(pytestconfig):
    name = pytestconfig.workerinput["workerid"]
    (pathlib.Path(__file__).parent / name).write_text(os.environ["REDIS_URL"])
"""


@pytest.mark.parametrize(
    ("url", "number", "third"),
    [
        ("redis://127.0.0.1:6379/2", 2, "redis://127.0.0.1:6379/3"),
        ("rediss://me:secret@valkey.example:6380", 0, "rediss://me:secret@valkey.example:6380/3"),
        ("unix:///tmp/a.sock", 0, "unix:///tmp/a.sock?db=3"),
        ("unix://me:secret@/tmp/a.sock?db=1", 1, "unix://me:secret@/tmp/a.sock?db=3"),
    ],
)
def test_an_address_names_a_database_in_the_ways_that_its_client_reads(url: str, number: int, third: str) -> None:
    assert read_database_number(url) == number
    assert with_database(url, 3) == third
    assert redis.Redis.from_url(third).connection_pool.connection_kwargs["db"] == 3


def test_each_process_has_the_database_of_its_number(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(NOTES_ITS_ADDRESS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    arguments = [
        "-p",
        "xdist",
        "-n",
        "2",
        "--dist",
        "each",
        "--rootdir",
        str(tmp_path),
        "--basetemp",
        str(tmp_path / "temp"),
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"REDIS_URL": "unix:///tmp/a.sock?db=4", "PYTHONPATH": str(ROOT)}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # xdist is enough, and begins in a second
    subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=tmp_path, env=environment, check=True)
    assert [(tmp_path / name).read_text() for name in ("gw0", "gw1")] == [
        "unix:///tmp/a.sock?db=4",
        "unix:///tmp/a.sock?db=5",
    ]


def test_more_processes_than_databases_are_refused() -> None:
    specs = [XSpec(f"popen//id=gw{n}") for n in range(VALKEY_DATABASES)]
    share_out_valkey(specs, "redis://127.0.0.1:6379")
    with pytest.raises(pytest.UsageError, match="start at most 15"):
        share_out_valkey(specs, "redis://127.0.0.1:6379/1")


@pytest.mark.parametrize(
    ("url", "broker"),
    [
        ("redis://127.0.0.1:6379/2", "redis://127.0.0.1:6379/2"),
        ("unix:///tmp/a.sock", "redis+socket:///tmp/a.sock"),
        ("unix://me:secret@/tmp/a.sock?db=3", "redis+socket://me:secret@/tmp/a.sock?virtual_host=3"),
    ],
)
def test_celery_has_the_same_database(url: str, broker: str) -> None:
    assert make_broker_url(url) == broker
