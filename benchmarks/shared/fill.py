"""Plausible load, written directly into the tables: many pages, releases and devices, skewed, from recorded views.

Posting a million views would take almost an hour. Their rows, made from recorded contributions and call trees, are
written in a minute or two: the cells, hotspots, call trees, views and receipts that a fold would have written.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any, Final
from uuid import UUID

import numpy as np
import numpy.typing as npt
from django.db import connection, transaction
from tqdm import tqdm

from aggregate.fold.interning import intern_funcs
from aggregate.fold.receipt_counts import add_receipt_counts
from aggregate.fold.rollups import ADD_CELLS, roll_up_hours
from aggregate.fold.writes import HOTSPOT_SUMS
from aggregate.models import Cell
from ingest.storage.groups import allocate_ids, intern_groups
from ingest.storage.partitions import create_partitions
from profcore.sums.blobs import encode_call_tree, encode_contribution
from profcore.sums.calltree import CallTree, CallTreeBuilder, mark_paths
from profcore.sums.fold import FOLD_VERSION, contribution_of, fold_trace
from profcore.times import DAY, midnight_hours_before, start_of_hour
from profcore.trace.dimensions import BROWSERS, DEVICE_CLASSES
from profcore.trace.funcs import FuncTable
from profcore.trace.weights import TIME_PART_NAMES
from profcore.trace.wire import Limits, decode_envelope
from projects.creation import create_project
from projects.models import Project
from tests.corpus import corpus_envelopes

ROLL_UP: Final = f"""
INSERT INTO aggregate_pageday (project_id, group_id, day_at, views, truncated_views, traces,
                               {", ".join(TIME_PART_NAMES)})
SELECT project_id, group_id, date_trunc('day', starts_at, 'UTC'), sum(views), sum(truncated_views), sum(traces),
       {", ".join(f"sum({name})" for name in TIME_PART_NAMES)}
FROM aggregate_cell WHERE project_id = %s GROUP BY 1, 2, 3
"""

Matrix = npt.NDArray[np.int64]

DAYS: Final = 30
HOURS_KEPT: Final = 48
PAGES: Final = 40
TOP_PAGE: Final = "/page-0/:id"  # with the most views
RELEASES: Final = 6
LAST_RELEASE: Final = f"2026.{RELEASES}"
PRIOR_RELEASE: Final = f"2026.{RELEASES - 1}"
DEVICES: Final = {"desktop-high": 0.35, "desktop-low": 0.2, "mobile-high": 0.25, "mobile-low": 0.2}
BROWSER_SHARES: Final = {"chrome": 0.8, "edge": 0.15, "samsung": 0.05}
PAGE_SKEW: Final = 1.1  # Zipf's exponent of pages' traffic
CELLS_A_BATCH: Final = 500
SEED: Final = 1  # equal fills are equal
HOTSPOT_COLUMNS: Final = HOTSPOT_SUMS[:-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """The recorded views of one page in one release: row per view, column per func or call node."""

    blobs: list[bytes]
    parts: Matrix
    funcs: list[int]
    sums: dict[str, Matrix]
    ran: Matrix
    tree: CallTree
    node_us: Matrix
    node_samples: Matrix
    node_hidden_us: Matrix


def read_templates(project_id: int) -> list[tuple[Template, Template]]:
    """Returns, for each recorded page, its templates in the older and the newer release."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for app, envelope in corpus_envelopes():
        groups.setdefault((app, envelope["page"], envelope["release"]), []).append(envelope)
    made = {key: make_template(envelopes, project_id) for key, envelopes in groups.items()}
    pages = sorted({key[:2] for key in made})
    return [(made[*page, "1.0.0"], made[*page, "1.1.0"]) for page in pages]


def make_template(envelopes: Sequence[dict[str, Any]], project_id: int) -> Template:
    """Returns recorded views of one page and release, folded, with their funcs interned in the project."""
    table, builder = FuncTable(), CallTreeBuilder()
    folds = []
    columns_after: list[tuple[list[int], list[int], list[int]]] = [([], [], [])]
    for envelope in envelopes:
        decoded = decode_envelope(json.dumps(envelope).encode(), Limits())
        fold = fold_trace(decoded, page=envelope["page"], funcs=table)
        builder.add_stacks(fold.prefix, fold.func, fold.stack_us, fold.stack_samples, fold.stack_hidden_us)
        tree = builder.tree
        columns_after.append((list(tree.self_us), list(tree.self_samples), list(tree.hidden_us)))
        folds.append(fold)
    id_of = intern_funcs(project_id, table.keys, is_bounded=False)
    ids = [id_of[key] for key in table.keys]
    contributions = [contribution_of(fold.sums, ids) for fold in folds]
    funcs = sorted({func for contribution in contributions for func in contribution.func})
    place = {func: column for column, func in enumerate(funcs)}
    sums = {name: np.zeros((len(folds), len(funcs)), dtype=np.int64) for name in HOTSPOT_COLUMNS}
    ran = np.zeros((len(folds), len(funcs)), dtype=np.int64)
    for row, contribution in enumerate(contributions):
        columns = [place[func] for func in contribution.func]
        ran[row, columns] = np.array(contribution.total_samples) > 0
        for name in HOTSPOT_COLUMNS:
            sums[name][row, columns] = getattr(contribution, name)
    tree = builder.tree
    node_us, node_samples, node_hidden_us = (
        _differences([column[n] for column in columns_after], len(tree)) for n in range(3)
    )
    mapped = CallTree(tree.prefix, [ids[f] for f in tree.func], tree.self_us, tree.self_samples, tree.hidden_us)
    parts = np.array([[getattr(fold.parts, name) for name in TIME_PART_NAMES] for fold in folds], dtype=np.int64)
    blobs = [encode_contribution(contribution) for contribution in contributions]
    return Template(
        blobs=blobs,
        parts=parts,
        funcs=funcs,
        sums=sums,
        ran=ran,
        tree=mapped,
        node_us=node_us,
        node_samples=node_samples,
        node_hidden_us=node_hidden_us,
    )


def _differences(columns: Sequence[Sequence[int]], width: int) -> Matrix:
    rows = np.zeros((len(columns) - 1, width), dtype=np.int64)
    for row, (old, new) in enumerate(pairwise(columns)):
        rows[row, : len(new)] = new
        rows[row, : len(old)] -= np.array(old, dtype=np.int64)
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """One cell to write: its key, its template, and how many views come from each recorded view."""

    id: int
    group_id: int
    starts_at: datetime
    grain: int
    device: int
    browser: int
    template: Template
    counts: npt.NDArray[np.int64]


def plan_cells(
    templates: Sequence[tuple[Template, Template]], project_id: int, views: int, now: datetime
) -> list[PlannedCell]:
    """Returns cells with `views` views spread over pages, releases, buckets, devices and browsers."""
    draw = np.random.default_rng(SEED)
    releases = [f"2026.{n}" for n in range(1, RELEASES + 1)]
    pages = [f"/page-{n}/:id" for n in range(PAGES)]
    groups = intern_groups(project_id, [(release, page) for release in releases for page in pages])
    page_shares = np.array([1 / (n + 1) ** PAGE_SKEW for n in range(PAGES)])
    buckets = _buckets(now)
    cells: list[PlannedCell] = []  # without their ids, which are allocated at once
    spread = [(d, b) for d in DEVICES.items() for b in BROWSER_SHARES.items()]
    shares = np.array([d[1] * b[1] for d, b in spread])
    for page, share in enumerate(page_shares / page_shares.sum()):
        for starts_at, grain, days in buckets:
            age = (now - starts_at) / timedelta(days=DAYS)
            release = releases[min(len(releases) - 1, int((1 - age) * len(releases)))]
            template = templates[page % len(templates)][release == releases[-1]]
            numbers = draw.multinomial(round(views * share * days / DAYS), shares / shares.sum())
            for number, ((device, _), (browser, _)) in zip(numbers, spread, strict=True):
                if number:
                    even = np.full(len(template.blobs), 1 / len(template.blobs))
                    cells.append(
                        PlannedCell(
                            id=0,
                            group_id=groups[release, pages[page]],
                            starts_at=starts_at,
                            grain=grain,
                            device=DEVICE_CLASSES.index(device),
                            browser=BROWSERS.index(browser),
                            template=template,
                            counts=draw.multinomial(number, even),
                        )
                    )
    with transaction.atomic():
        ids = allocate_ids(project_id, "cell", len(cells))
    return [replace(cell, id=cell_id) for cell_id, cell in zip(ids, cells, strict=True)]


def _buckets(now: datetime) -> list[tuple[datetime, int, float]]:
    hour = start_of_hour(now)
    young = [(hour - timedelta(hours=n), int(Cell.Grain.HOUR), 1 / 24) for n in range(HOURS_KEPT)]
    day = midnight_hours_before(hour, HOURS_KEPT)
    return young + [(day - timedelta(days=n), int(Cell.Grain.DAY), 1.0) for n in range(DAYS - HOURS_KEPT // 24)]


def fill_project(slug: str, views: int, *, thin: int = 1) -> tuple[Project, int]:
    """Creates a project with about `views` views; returns it and the number of their rows."""
    project, _ = create_project(slug=slug, origins=["*"])
    with tqdm(total=views // thin, unit="view", desc="Filling") as bar:
        return project, fill(project.pk, views, datetime.now(UTC), bar.update, thin=thin)


def fill(project_id: int, views: int, now: datetime, tell: Callable[[int], object], *, thin: int = 1) -> int:
    """Writes about `views` views of a project and returns the number of their rows. `tell` gets the progress.

    Sums are those of all views, but only one of each `thin` equal views has rows of its own.
    """
    cells = plan_cells(read_templates(project_id), project_id, views, now)
    _copy("aggregate_cell", _cell_rows(project_id, cells))
    _copy("aggregate_hotspotpiece", _hotspot_rows(project_id, cells))
    _copy("aggregate_calltreepiece", _tree_rows(project_id, cells))
    _copy("aggregate_daytreepiece", _day_tree_rows(project_id, cells))
    create_partitions(now.date() - DAYS * DAY, DAYS + 1)  # receipts lie at the times of their views
    written = 0
    draw = random.Random(SEED)  # noqa: S311  # not for secrets
    for start in range(0, len(cells), CELLS_A_BATCH):
        batch = cells[start : start + CELLS_A_BATCH]
        rows = list(_view_rows(project_id, batch, draw, thin))
        _copy("aggregate_pageview", (view for view, _ in rows))
        _copy("ingest_tracereceipt", (receipt for _, receipt in rows))
        written += len(rows)
        tell(len(rows))
    with connection.cursor() as cursor:
        cursor.execute(ROLL_UP, [project_id])
        cursor.execute("SELECT id FROM aggregate_cell WHERE project_id = %s AND is_rolled", [project_id])
        rolled = [cell_id for (cell_id,) in cursor]
        cursor.execute(ADD_CELLS, {"project_id": project_id, "cell_ids": rolled})
        cursor.execute(
            add_receipt_counts("(SELECT * FROM ingest_tracereceipt WHERE project_id = %s) AS filled", sign=1),
            [project_id],
        )
        roll_up_hours(now)
        cursor.execute("ANALYZE")
    return written


def _cell_rows(project_id: int, cells: Sequence[PlannedCell]) -> Iterator[dict[str, Any]]:
    for cell in cells:
        views = int(cell.counts.sum())
        parts = dict(zip(TIME_PART_NAMES, (cell.counts @ cell.template.parts).tolist(), strict=True))
        yield {
            "project_id": project_id,
            "id": cell.id,
            "group_id": cell.group_id,
            "starts_at": cell.starts_at,
            "grain": cell.grain,
            "is_rolled": cell.grain == Cell.Grain.DAY,  # as those of merged hours are
            "device_class": cell.device,
            "browser": cell.browser,
            "fold_version": FOLD_VERSION,
            "views": views,
            "truncated_views": 0,
            "traces": views,
            **parts,
        }


def _hotspot_rows(project_id: int, cells: Sequence[PlannedCell]) -> Iterator[dict[str, Any]]:
    for cell in cells:
        template = cell.template
        columns = {name: (cell.counts @ template.sums[name]).tolist() for name in HOTSPOT_COLUMNS}
        columns["views"] = (cell.counts @ template.ran).tolist()
        kept = [place for place in range(len(template.funcs)) if any(values[place] for values in columns.values())]
        if kept:
            sums = {name: [values[place] for place in kept] for name, values in columns.items()}
            func_ids = [template.funcs[place] for place in kept]
            yield {"project_id": project_id, "cell_id": cell.id, "id": 1, "func_ids": func_ids, **sums}


def _tree_rows(project_id: int, cells: Sequence[PlannedCell]) -> Iterator[dict[str, Any]]:
    for cell in cells:
        yield {"project_id": project_id, "cell_id": cell.id, **_pack_tree(cell.template, cell.counts)}


def _day_tree_rows(project_id: int, cells: Sequence[PlannedCell]) -> Iterator[dict[str, Any]]:
    """Yields the roll-up of the trees of day cells. The cells of a group's day have one template."""
    by_day: dict[tuple[int, datetime], list[PlannedCell]] = {}
    for cell in cells:
        if cell.grain == Cell.Grain.DAY:
            by_day.setdefault((cell.group_id, cell.starts_at), []).append(cell)
    for (group_id, day_at), inside in by_day.items():
        counts = sum((cell.counts for cell in inside), np.zeros_like(inside[0].counts))
        key = {"project_id": project_id, "group_id": group_id, "day_at": day_at}
        yield {**key, **_pack_tree(inside[0].template, counts)}


def _pack_tree(template: Template, counts: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Returns the columns of a piece with the call tree of so many views of each recorded view."""
    tree = template.tree
    self_us = (counts @ template.node_us).tolist()
    samples = (counts @ template.node_samples).tolist()
    hidden_us = (counts @ template.node_hidden_us).tolist()
    kept = _keep_used(CallTree(tree.prefix, tree.func, self_us, samples, hidden_us))
    return {"id": 1, "node_count": len(kept), "blob": encode_call_tree(kept)}


def _keep_used(tree: CallTree) -> CallTree:
    """Returns a tree without the paths that no view of the cell took: a fold creates no nodes for them."""
    used = [node for node, sums in enumerate(zip(tree.self_samples, tree.hidden_us, strict=True)) if any(sums)]
    kept = [node for node, is_kept in enumerate(mark_paths(tree.prefix, used)) if is_kept]
    place = {node: index for index, node in enumerate(kept)} | {-1: -1}
    return CallTree(
        prefix=[place[tree.prefix[node]] for node in kept],
        func=[tree.func[node] for node in kept],
        self_us=[tree.self_us[node] for node in kept],
        self_samples=[tree.self_samples[node] for node in kept],
        hidden_us=[tree.hidden_us[node] for node in kept],
    )


def _view_rows(
    project_id: int, cells: Sequence[PlannedCell], draw: random.Random, thin: int
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for cell in cells:
        for recorded, number in enumerate(cell.counts.tolist()):
            parts = dict(zip(TIME_PART_NAMES, cell.template.parts[recorded].tolist(), strict=True))
            for _ in range(0, number, thin):
                key = {"project_id": project_id, "view_id": UUID(int=draw.getrandbits(128)), "group_id": cell.group_id}
                view = {
                    **key,
                    "cell_id": cell.id,
                    "traces": 1,
                    "is_truncated": False,
                    "fold_version": FOLD_VERSION,
                    "contribution": cell.template.blobs[recorded],
                    **parts,
                }
                receipt = {
                    **key,
                    "seq": 0,
                    "received_at": cell.starts_at,
                    "view_started_at": cell.starts_at,
                    "device_class": cell.device,
                    "browser": cell.browser,
                    "end_reason": 0,
                    "interval_us": 10_000,
                    "body_bytes": 16_000,
                    "state": 1,
                    "attempts": 1,
                    "crashes": 0,
                }
                yield view, receipt


def _copy(table: str, rows: Iterator[dict[str, Any]]) -> None:
    first = next(rows, None)
    if first is None:
        return
    names = list(first)
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({', '.join(names)}) FROM STDIN") as copy:
        copy.write_row(list(first.values()))
        for row in rows:
            copy.write_row([row[name] for name in names])
