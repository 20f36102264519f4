"""A web process has loaded what its first answers need before it listens, and gives back what was freed after work.

It has no connection then, and one quiet thread.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.template.loader import get_template

from ops.malloc_trim import EVERY_S, WORK_S, Trimmer, keep_trimming
from ops.preload import list_templates

ROOT = Path(__file__).resolve().parent.parent.parent
SERVE = """
import gc, json, sys, threading
import config.wsgi
from django.db import connection
from django.template import engines
from django.urls import get_resolver
from dashboard.web.etags import fingerprint_server
from profcore.code.sites import suffixes

engine = engines.all()[0].engine
kept = engine.template_loaders[0].get_template_cache
before = set(sys.modules)
get_resolver().resolve("/projects/shop/")
print(json.dumps({
    "statistics": "profcore.special" in before,
    "loaded by an address": sorted(set(sys.modules) - before),
    "templates": len(kept),
    "overview": any("dashboard/overview/page.html" in str(key) for key in kept),
    "fingerprint": fingerprint_server.cache_info().currsize,
    "sites": suffixes.cache_info().currsize,
    "threads": sorted(thread.name for thread in threading.enumerate()),
    "connected": connection.connection is not None,
    "frozen": gc.get_freeze_count() > 50_000,
}))
"""
# Blocks that the allocator keeps when they are freed, since something lies behind each.
FRAGMENTED = """
from pathlib import Path
from ops.malloc_trim import EVERY_S, Trimmer
def read_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
pairs = [(bytearray(100_000), bytearray(600)) for _ in range(400)]
pins = [pin for _, pin in pairs]
del pairs
trimmer = Trimmer()
trimmer.at_s -= EVERY_S
trimmer.used_s -= 1
kept = read_mb()
assert trimmer.trim_after_work()
print(kept - read_mb())
"""


def test_a_web_process_has_loaded_what_its_first_answers_need(tmp_path: Path) -> None:
    environment = {**os.environ, "FIELDFLAME_DATA": str(tmp_path), "FIELDFLAME_SECRET_KEY": "a long secret"}
    environment |= {
        "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
        "DJANGO_SETTINGS_MODULE": "config.settings",
    }
    done = subprocess.run(
        [sys.executable, "-c", SERVE], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "statistics": True,
        "loaded by an address": [],
        "templates": len(list_templates()),
        "overview": True,
        "fingerprint": 1,
        "sites": 1,
        "threads": ["MainThread", "trimming"],
        "connected": False,
        "frozen": True,
    }


def test_every_template_of_pages_can_be_loaded() -> None:
    names = list_templates()
    assert "dashboard/overview/page.html" in names
    assert "404.html" in names
    for name in names:
        get_template(name)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_was_freed_between_what_is_used_goes_back() -> None:
    done = subprocess.run([sys.executable, "-c", FRAGMENTED], capture_output=True, text=True, check=True)
    assert float(done.stdout) > 20  # of 40 MB


@pytest.mark.skipif(sys.platform != "linux", reason="needs glibc")
def test_it_is_done_after_work_and_when_the_last_time_is_a_while_ago() -> None:
    trimmer = Trimmer()
    trimmer.used_s -= WORK_S * 2
    assert not trimmer.trim_after_work()
    trimmer.at_s -= EVERY_S
    assert trimmer.trim_after_work()
    assert not trimmer.trim_after_work()
    trimmer.at_s -= EVERY_S
    trimmer.used_s = time.process_time() + 1_000  # no work since
    assert not trimmer.trim_after_work()


def test_the_thread_of_a_web_process_prevents_no_end() -> None:
    assert keep_trimming().daemon
