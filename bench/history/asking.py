"""The steps of `bench history`, each in a process of its own; and the questions, for PostgreSQL and for DuckDB."""

import json
import os
import resource
import statistics
import time
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from django.db import connection

from aggregate.history.columns import TABLES
from aggregate.history.exporting import export_days, last_folded_day
from aggregate.history.folder import HistoryFolder
from aggregate.selectors.functions.table import select_functions
from aggregate.selectors.slice.slices import SliceQuery, resolve_slice
from bench.fill import Span
from bench.processor_time import tree_s
from bench.queries import TOP_PAGE, fill_project
from ingest.models import Project
from profcore.times import DAY

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SLUG: Final = "history"
ROLLED: Final = "rolled.parquet"
RELEASES_A_YEAR: Final = 26
RELEASE: Final = "2026.13"
ROUNDS: Final = 7  # after the first one
TOP: Final = 20
THREADS: Final = 2
STORED: Final = (
    *("aggregate_cell", "aggregate_hotspotpiece", "aggregate_calltreepiece"),
    *("aggregate_pageday", "aggregate_dayhotspot", "aggregate_daytreepiece", "aggregate_func"),
)
QUESTIONS: Final = (
    "top functions of the busiest page",
    "the same on one device class",
    "functions of everything",
    "time per view by month of one release",
)
TOP_FUNCTIONS: Final = """
SELECT function_id, any_value(label), sum(self_us)::BIGINT AS self_us, sum(total_us)::BIGINT AS total_us
FROM {table} WHERE {where} GROUP BY function_id ORDER BY self_us DESC, total_us DESC LIMIT {limit}
"""
# As docs/history.md has it: all devices and browsers together, in one file.
ROLL_UP: Final = """
COPY (SELECT project, day, page, release, function_id, label, sum(self_us)::BIGINT AS self_us,
             sum(total_us)::BIGINT AS total_us, sum(hidden_us)::BIGINT AS hidden_us, sum(views)::BIGINT AS views
      FROM hotspots GROUP BY ALL ORDER BY page, release, day, function_id)
TO '{path}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 20480)
"""
BY_MONTH: Final = """
SELECT date_trunc('month', {day})::date AS month, (sum(js_us) + sum(hidden_us)) / 1000.0 / sum(views)
FROM {table} WHERE release = '{release}' AND {day} >= '{first}' AND {day} <= '{last}' GROUP BY 1 ORDER BY 1
"""
PAGE_DAYS: Final = """(SELECT c.*, g.release FROM aggregate_pageday c
    JOIN ingest_group g ON g.project_id = c.project_id AND g.id = c.group_id) AS c"""


def fill(place: str, *, corpus: str, views: int, days: int) -> None:
    """Fills the database with a project of so many days, and notes the size of its tables."""
    span = Span(days=days, releases=max(2, days * RELEASES_A_YEAR // 365), hours=0)
    fill_project(SLUG, Path(corpus), views, thin=0, span=span)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    _note(place, "filled", views=views, days=days, bytes=measure_tables())


def measure_tables() -> dict[str, int]:
    """Returns the bytes of each table, with its indexes and what it keeps out of line."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT t, pg_total_relation_size(t::regclass) FROM unnest(%s::text[]) AS t", [list(STORED)])
        return {name.removeprefix("aggregate_"): size for name, size in cursor.fetchall()}


def export(place: str) -> None:
    """Exports all folded days, twice, and notes what that took."""
    project, folder = Project.objects.get(slug=SLUG), HistoryFolder(Path(place) / SLUG, SLUG)
    last = last_folded_day(datetime.now(UTC))
    began, used = time.monotonic(), time.process_time()
    done = export_days(project, folder, None, last)
    took_s, used_s = time.monotonic() - began, time.process_time() - used
    assert done.written
    assert not done.failed, done.failed
    began = time.monotonic()
    assert not export_days(project, folder, None, last).written
    sizes = {table.name: sum(day.files[table.name].size_bytes for day in done.written.values()) for table in TABLES}
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    again_s = time.monotonic() - began
    _note(place, "exported", s=took_s, processor_s=used_s, again_s=again_s, peak_mb=peak_mb, bytes=sizes)


def roll_up(place: str) -> None:
    """Makes one file of sums by function, page, release and day, and notes what that took."""
    path = Path(place) / ROLLED
    database = open_history(Path(place) / SLUG)
    began, used = time.monotonic(), time.process_time()
    database.execute(ROLL_UP.format(path=path))
    took_s, used_s = time.monotonic() - began, time.process_time() - used
    _note(place, "rolled", s=took_s, processor_s=used_s, bytes={"one file": path.stat().st_size})


def ask(place: str, *, number: int) -> None:
    """Asks both sides one question, and notes the ms of the first answer, the median of others, and the processor time.

    Both must answer the same.
    """
    folder = HistoryFolder(Path(place) / SLUG, SLUG)
    days = sorted(folder.read_manifests())
    questions = _make_questions(number, Path(place), days[0], days[-1])
    with connection.cursor() as cursor:
        cursor.execute("CHECKPOINT")
    _forget_files(Path(place))
    cold = {side: _time(question) for side, question in questions.items()}
    warm = {side: [_time(question) for _ in range(ROUNDS)] for side, question in questions.items()}
    processor = {side: _measure_processor_ms(question) for side, question in questions.items()}
    assert len({repr(question()) for question in questions.values()}) == 1
    _note(
        place,
        "asked",
        **{side: [cold[side], statistics.median(warm[side]), processor[side]] for side in questions},
    )


def _time(question: Callable[[], Any]) -> float:
    """Returns the ms that an answer took."""
    began = time.perf_counter()
    question()
    return (time.perf_counter() - began) * 1000


def _measure_processor_ms(question: Callable[[], Any]) -> float:
    """Returns the mean processor time of an answer, ms, here and in PostgreSQL, which nobody else may use."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_read_file('postmaster.pid')")
        (text,) = cursor.fetchone()
    postmaster = int(text.split()[0])
    there, here = tree_s(postmaster), time.process_time()
    for _ in range(ROUNDS):
        question()
    here = time.process_time() - here
    return (here + tree_s(postmaster) - there) / ROUNDS * 1000


def _make_questions(number: int, place: Path, first: date, last: date) -> dict[str, Callable[[], Any]]:
    """Returns the question for each side, about the days of the history: the last ones are not in it."""
    database = open_history(place / SLUG)

    def select(statement: str) -> Callable[[], Any]:
        return lambda: database.execute(statement).fetchall()

    if number == 3:
        words = {"release": RELEASE, "first": first, "last": last}
        stored = BY_MONTH.format(table=PAGE_DAYS, day="day_at", **words)
        of_cells = select(BY_MONTH.format(table="cells", day="day", **words))
        return {"PostgreSQL": lambda: _round(_select(stored)), "DuckDB": lambda: _round(of_cells())}
    page = [] if number == 2 else [TOP_PAGE]
    device = ["mobile-low"] if number == 1 else []
    query = SliceQuery(page=page, device=device, from_=[f"{first}"], to=[f"{last + DAY}"])
    slice_ = resolve_slice(Project.objects.get(slug=SLUG).pk, query)
    conditions = [*(f"page = '{each}'" for each in page), *(f"device_class = '{each}'" for each in device), "true"]
    words = {"where": " AND ".join(conditions), "limit": TOP}
    sides: dict[str, Callable[[], Any]] = {
        "PostgreSQL": lambda: [
            (str(row.id), row.label, row.self_us, row.total_us) for row in select_functions(slice_, limit=TOP).functions
        ],
        "DuckDB": select(TOP_FUNCTIONS.format(table="hotspots", **words)),
    }
    if not device:
        rolled = f"read_parquet('{place / ROLLED}')"
        sides["rolled up"] = select(TOP_FUNCTIONS.format(table=rolled, **words))
    return sides


def open_history(root: Path) -> "DuckDBPyConnection":
    """Returns a DuckDB with a view for each table of a history, as docs/history.md opens it."""
    import duckdb

    database = duckdb.connect(config={"threads": THREADS})
    for table in TABLES:
        files = f"{root}/{table.name}/*/*/*.parquet"
        database.execute(f"CREATE VIEW {table.name} AS FROM read_parquet('{files}', hive_partitioning = true)")
    return database


def _select(statement: str) -> list[Any]:  # Any: rows as the driver types them
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return list(cursor.fetchall())


def _round(rows: list[Any]) -> list[Any]:
    return [(month, round(float(ms), 6)) for month, ms in rows]


def _forget_files(place: Path) -> None:
    """Asks the system to forget what it remembers of all files in a folder, so that they are read from the disk."""
    for path in place.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def _note(place: str, name: str, **facts: object) -> None:
    (Path(place) / f"{name}.json").write_text(json.dumps(facts), encoding="utf-8")
