"""Which days are written, what a second export does, and what stays when the database has less."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from aggregate.history.exporting import export_days
from aggregate.history.folder import HistoryFolder
from aggregate.maintenance.merging import merge_old_hours
from aggregate.maintenance.retention import expire_all
from aggregate.models import RefoldRun
from projects.creation import create_project
from projects.models import Project
from tests.aggregate.history.files import ask, export, list_contents
from tests.aggregate.old_views import NOW, OLD, old_views
from tests.aggregate.posting import fold_all, post
from tests.envelopes import make_envelope, view_id_of

pytestmark = pytest.mark.django_db(transaction=True)
DAY = OLD.date()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder for the history of a shop with a folded day, four days ago, of two pages and two releases."""
    create_project(slug="shop", key="shop-key", origins=["*"])
    add([{**view, "release": f"{n % 2 + 1}.0.0"} for n, view in enumerate(old_views())])
    return tmp_path / "history"


def add(views: list[dict[str, Any]]) -> None:
    post("shop-key", *views)
    fold_all()
    merge_old_hours(NOW)


def count_views(root: Path) -> int:
    return int(ask(root, "SELECT sum(views) FROM cells")[0][0])


def test_a_second_export_writes_nothing(root: Path) -> None:
    assert "1 days written" in export(root)
    before = list_contents(root)
    times = {path: path.stat().st_mtime_ns for path in root.rglob("*.parquet")}
    assert "0 days written (0.0 MB), 1 unchanged" in export(root)
    assert times == {path: path.stat().st_mtime_ns for path in root.rglob("*.parquet")}
    assert "1 days written" in export(root, "--again")
    assert list_contents(root) == before  # equal sums give equal bytes


def test_each_project_and_day_has_its_folder_in_every_table(root: Path) -> None:
    create_project(slug="other", key="other-key", origins=["*"])
    post("other-key", make_envelope("o", "A", viewStart=(OLD - timedelta(days=1)).timestamp() * 1000))
    fold_all()
    merge_old_hours(NOW)
    export(root)
    export(root, project="other")
    days = ask(root, "SELECT project, day, count(DISTINCT release), sum(views) FROM cells GROUP BY ALL ORDER BY ALL")
    assert days == [("other", DAY - timedelta(days=1), 1, 1), ("shop", DAY, 2, 12)]
    for table in ("hotspots", "call_nodes", "functions"):
        assert ask(root, f"SELECT DISTINCT project, day FROM {table} ORDER BY 1") == [row[:2] for row in days]


def test_days_without_views_and_days_that_are_not_folded_yet_have_no_files(root: Path) -> None:
    post("shop-key", make_envelope("today", "A", viewStart=NOW.timestamp() * 1000))
    fold_all()
    said = export(root, "--from", f"{DAY - timedelta(days=30)}")
    assert "1 days written" in said
    assert [path.stem for path in root.glob("manifests/*/*.json")] == [str(DAY)]
    assert [path.name for path in root.glob("*/project=shop/day=*")] == [f"day={DAY}"] * 4


def test_a_project_without_views_has_no_history(tmp_path: Path) -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])
    assert "0 days written" in export(tmp_path)


def test_a_straggler_changes_its_day(root: Path) -> None:
    export(root)
    assert count_views(root) == 12
    add([make_envelope("late", "A\nZ", page="/p0", viewStart=OLD.timestamp() * 1000)])
    assert "1 days written" in export(root)
    assert count_views(root) == 13


def test_a_day_is_left_out_while_its_hours_are_not_merged_or_traces_pend(root: Path) -> None:
    late = make_envelope("late", "A", page="/p9", viewStart=OLD.timestamp() * 1000)
    post("shop-key", late)
    with pytest.raises(CommandError, match="left out") as caught:
        export(root)
    assert caught.value.returncode == 3
    fold_all()  # an hour of a new page
    with pytest.raises(CommandError, match="left out"):
        export(root)
    assert list(root.glob("*/project=shop/day=*")) == []
    merge_old_hours(NOW)
    export(root)
    assert count_views(root) == 13


def test_a_refold_under_way_changes_nothing(root: Path) -> None:
    export(root)
    before = list_contents(root)
    call_command("refold", "--project", "shop", "--no-fold")
    with pytest.raises(CommandError, match="left out"):
        export(root)
    assert list_contents(root) == before
    fold_all()
    merge_old_hours(NOW)
    RefoldRun.objects.update(finished_at=NOW)
    export(root)
    assert count_views(root) == 12


def test_erased_views_leave_the_history_with_the_next_export(root: Path) -> None:
    export(root)
    call_command("erase_view", "--project", "shop", view_id_of("v0"))
    assert "1 days written" in export(root)
    assert count_views(root) == 11
    call_command("erase_view", "--project", "shop", *(view_id_of(f"v{n}") for n in range(1, 12)))
    assert "1 removed" in export(root)
    assert list(root.rglob("*.parquet")) == list(root.rglob("*.json")) == []
    assert "0 days written" in export(root)


def test_what_expires_in_the_database_stays_in_the_history(root: Path) -> None:
    export(root)
    before = list_contents(root)
    Project.objects.update(keep_cells_days=2)
    expire_all(NOW)
    assert "1 kept though their cells have expired" in export(root, "--again")
    assert list_contents(root) == before
    # A late trace makes a cell of the day again, and later the retention is longer: the day is not what it was.
    Project.objects.update(keep_cells_days=None)
    add([make_envelope("late", "A", page="/p0", viewStart=OLD.timestamp() * 1000)])
    assert "1 kept" in export(root)
    assert list_contents(root) == before


def test_a_day_that_expires_now_is_not_written(root: Path) -> None:
    Project.objects.update(keep_cells_days=4)
    folder = HistoryFolder(root, "shop")
    midnight = datetime(DAY.year, DAY.month, DAY.day, tzinfo=UTC) + timedelta(days=5)
    project = Project.objects.get()
    done = export_days(project, folder, None, DAY, clock=lambda: midnight - timedelta(minutes=1))
    assert (done.written, done.left_out) == ({}, {})
    done = export_days(project, folder, None, DAY, clock=lambda: midnight - timedelta(hours=2))
    assert list(done.written) == [DAY]


def test_a_damaged_file_is_written_again_and_missed_once_its_cells_are_gone(root: Path) -> None:
    export(root)
    path = next(root.glob("hotspots/*/*/*.parquet"))
    path.write_bytes(path.read_bytes()[:-1])
    assert "1 days written" in export(root)
    path.unlink()
    Project.objects.update(keep_cells_days=2)
    expire_all(NOW)
    with pytest.raises(CommandError, match="missing or damaged"):
        export(root)


def test_two_exports_never_write_at_once(root: Path) -> None:
    with HistoryFolder(root, "shop").lock(), pytest.raises(CommandError, match=r"--to .*another export writes"):
        export(root)
    export(root)


def test_a_new_project_under_an_old_name_is_not_mixed_with_the_old_one(root: Path) -> None:
    export(root)
    Project.objects.update(slug="old")
    create_project(slug="shop", key="new-key", origins=["*"])
    with pytest.raises(CommandError, match=r"--to .*another project"):
        export(root)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (["--project", "nobody"], "--project: there is no project 'nobody'"),
        (["--from", "yesterday"], "--from must be a day such as"),
        (["--until", "2026-02-30"], "--until must be a day such as"),
        (["--from", "2026-03-02", "--until", "2026-03-01"], "--from: 2026-03-02 is later"),
        (["--until", str(date.max)], "--until: 9999-12-31 is not folded yet"),
        (["--to", "/dev/null/history"], "--to /dev/null/history: Not a directory"),
    ],
)
def test_wrong_words_are_refused_by_name(root: Path, arguments: list[str], match: str) -> None:
    with pytest.raises(CommandError, match=match):
        call_command("export_cells", "--project", "shop", "--to", str(root), *arguments)
    assert not root.exists()


def test_without_duckdb_it_says_how_to_install_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aggregate.management.commands.export_cells.is_installed", lambda: False)
    with pytest.raises(CommandError, match=r"\./run history installs it"):
        export(root)
