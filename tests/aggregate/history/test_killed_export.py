"""An export in a process of its own, killed at its worst moments: the next one leaves what no killed one would have."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from aggregate.history.columns import TABLES
from aggregate.maintenance.merging import merge_old_hours
from projects.creation import create_project
from tests.aggregate.history.files import ask, export, list_contents
from tests.aggregate.old_views import NOW, OLD, old_views
from tests.aggregate.posting import database_url, fold_all, post
from tests.envelopes import make_envelope

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.kills, pytest.mark.slow(20)]

# Kills itself before a call of a function, once so many calls have passed.
KILLED = """
import os, signal, sys, django
django.setup()
from pathlib import Path
from django.core.management import call_command
from aggregate.history.parquet import DayTables
owner, name, passing = {"rename": (Path, "replace"), "write": (DayTables, "write")}[sys.argv[1]] + (int(sys.argv[2]),)
plain = getattr(owner, name)
def counted(*words):
    global passing
    passing -= 1
    if passing < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return plain(*words)
setattr(owner, name, counted)
call_command("export_cells", "--project", "shop", "--to", sys.argv[3])
"""


def export_killed(root: Path, what: str, passing: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, what, str(passing), str(root)],
        env={**os.environ, "DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "config.settings"},
        cwd=settings.BASE_DIR,
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def test_a_killed_export_is_made_good_by_the_next(tmp_path: Path) -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", *old_views())
    fold_all()
    merge_old_hours(NOW)
    root = tmp_path / "killed"
    for number, (what, passing) in enumerate(
        # While it sorts; before the first file, between two files, and before the manifest.
        [("write", 1), ("rename", 0), ("rename", 2), ("rename", len(TABLES))]
    ):
        export_killed(root, what, passing)
        assert list(root.glob("manifests/*/*.json")) == []
        assert list(root.glob("writing/shop/*/*")) != [] or what == "rename"
        for table in TABLES:  # what is there can be read, and is complete by itself
            if any(root.glob(f"{table.name}/*/*/*.parquet")):
                assert ask(root, f"SELECT count(*) > 0 FROM {table.name}") == [(True,)]
        assert "1 days written" in export(root)
        fresh = tmp_path / f"fresh{number}"
        export(fresh)
        assert list_contents(root) == list_contents(fresh)
        assert ask(root, "SELECT sum(views) FROM cells") == [(12 + number,)]
        # A new version of the same day for the next one.
        post("shop-key", make_envelope(f"late{number}", "A\nZ", page="/p0", viewStart=OLD.timestamp() * 1000))
        fold_all()
        merge_old_hours(NOW)
