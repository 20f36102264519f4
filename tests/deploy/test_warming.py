"""A web process has loaded what its first answers need before it listens, and neither a connection nor a thread."""

import json
import os
import subprocess
import sys
from pathlib import Path

from django.template.loader import get_template

from config.warming import list_templates

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
    "statistics": "scipy.special" in before,
    "loaded by an address": sorted(set(sys.modules) - before),
    "templates": len(kept),
    "overview": any("dashboard/overview/page.html" in str(key) for key in kept),
    "fingerprint": fingerprint_server.cache_info().currsize,
    "sites": suffixes.cache_info().currsize,
    "threads": threading.active_count(),
    "connected": connection.connection is not None,
    "frozen": gc.get_freeze_count() > 50_000,
}))
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
        "threads": 1,
        "connected": False,
        "frozen": True,
    }


def test_every_template_of_pages_can_be_loaded() -> None:
    names = list_templates()
    assert "dashboard/overview/page.html" in names
    assert "404.html" in names
    for name in names:
        get_template(name)
