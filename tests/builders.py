"""Rows of the fold's tables, made directly: what selectors and pages read, without traces."""

import gzip
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from typing import Any
from uuid import NAMESPACE_OID, UUID, uuid4, uuid5

import msgspec
from django.db import connection
from django.db.models import F
from psycopg import sql

from aggregate.fold.receipt_counts import add_receipt_counts
from aggregate.label_models import Label, ReleaseScript, Source
from aggregate.models import CallTreePiece, Cell, Func, HotspotPiece, PageDay, PageView
from ingest.count_models import AbsentCount
from ingest.endpoint.hang_counts import count_hangs
from ingest.models import Group, RawTrace, Receipt
from ingest.storage.partitions import create_partitions
from profcore.hangs.reports import CRASH, CrashContext, Report, check_crash
from profcore.sums.blobs import Contribution, encode_call_tree, encode_contribution
from profcore.sums.calltree import CallTree
from profcore.symbolicate.scopes import read_scopes
from profcore.times import DAY
from profcore.trace.absence import ABSENCE_REASONS
from profcore.trace.dimensions import BROWSERS, CACHES, CAPTURES, DEVICE_CLASSES, NAVIGATIONS, SDKS
from profcore.trace.weights import TimeParts
from projects.creation import create_project
from projects.models import Project

MONDAY = datetime(2026, 11, 16, 9, tzinfo=UTC)
EMPTY_CONTRIBUTION = encode_contribution(Contribution())


def now() -> datetime:
    """Returns the present. A constant of a module would be another day's, where the suite runs past midnight."""
    return datetime.now(UTC)


def make_project(slug: str = "shop", *, name: str | None = None) -> Project:
    """Makes a project with one key, `KEY-<slug>`, for any origin."""
    project, _ = create_project(slug=slug, key=f"KEY-{slug}", origins=["*"], name=name)
    return project


def _next_id(table: str, project: Project) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COALESCE(max(id), 0) + 1 FROM {table} WHERE project_id = %s", [project.pk])
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])


def make_group(project: Project, release: str, page: str, *, first_seen_at: datetime = MONDAY) -> Group:
    """Finds or makes a release × page."""
    group = Group.objects.filter(project=project, release=release, page=page).first()
    return group or Group.objects.create(
        project=project,
        id=_next_id("ingest_group", project),
        release=release,
        page=page,
        first_seen_at=first_seen_at,
    )


def make_func(
    project: Project,
    name: str,
    *,
    uri: str | None = "https://shop.example/assets/app.js",
    line: int | None = 1,
    column: int | None = None,
) -> Func:
    """Finds or makes a func; without a column it gets one of its own."""
    func_id = _next_id("aggregate_func", project)
    if uri is not None and line is not None and column is None:
        column = 10 * func_id
    digest = blake2b(repr((project.pk, uri, line, column, name)).encode(), digest_size=16).digest()
    func = Func.objects.filter(project=project, digest=digest).first()
    return func or Func.objects.create(
        project=project, id=func_id, digest=digest, name=name, uri=uri, line=line, column=column
    )


def make_cell(
    project: Project,
    *,
    release: str = "1.0.0",
    page: str = "/cart",
    starts_at: datetime = MONDAY,
    device: str = "desktop",
    browser: str = "chrome",
    navigation: str = "unknown",
    cache: str = "unknown",
    sdk: str = "fieldflame",
    capture: str = "whole",
    views: int = 1,
    truncated_views: int = 0,
    traces: int = 1,
    js_us: int = 0,
    hidden_us: int = 0,
    engine_us: int = 0,
    idle_us: int = 0,
    unobserved_us: int = 0,
    profiler_us: int = 0,
    samples: tuple[int, int, int, int] = (1, 0, 0, 0),
    grain: Cell.Grain = Cell.Grain.HOUR,
    merged_into: int | None = None,
) -> Cell:
    """Makes a cell, and the same sums in the roll-up of its day; its span is the sum of its parts.

    `samples` are those of js, hidden, idle and profiler.
    """
    js_samples, hidden_samples, idle_samples, profiler_samples = samples
    cell = Cell.objects.create(
        project=project,
        id=_next_id("aggregate_cell", project),
        group_id=make_group(project, release, page).id,
        starts_at=starts_at,
        grain=grain,
        device_class=DEVICE_CLASSES.index(device),
        browser=BROWSERS.index(browser),
        navigation=NAVIGATIONS.index(navigation),
        cache=CACHES.index(cache),
        sdk=SDKS.index(sdk),
        capture=CAPTURES.index(capture),
        merged_into=merged_into,
        fold_version=1,
        views=views,
        truncated_views=truncated_views,
        traces=traces,
        js_us=js_us,
        hidden_us=hidden_us,
        engine_us=engine_us,
        idle_us=idle_us,
        unobserved_us=unobserved_us,
        profiler_us=profiler_us,
        span_us=js_us + hidden_us + engine_us + idle_us + unobserved_us + profiler_us,
        js_samples=js_samples,
        hidden_samples=hidden_samples,
        idle_samples=idle_samples,
        profiler_samples=profiler_samples,
    )
    if merged_into is None:
        _roll_up(cell)
    return cell


def _roll_up(cell: Cell) -> None:
    day_at = cell.starts_at.replace(hour=0, minute=0, second=0, microsecond=0)
    sums = {name: getattr(cell, name) for name in ("views", "truncated_views", "traces", *TimeParts.__slots__)}
    key = {"project_id": cell.project_id, "group_id": cell.group_id, "day_at": day_at}
    row, is_new = PageDay.objects.get_or_create(**key, defaults=sums)
    if not is_new:
        PageDay.objects.filter(**key).update(**{name: getattr(row, name) + value for name, value in sums.items()})


def make_hotspot(
    cell: Cell, func: Func, *, self_us: int = 0, total_us: int = 0, hidden_us: int = 0, views: int = 1, samples: int = 1
) -> HotspotPiece:
    """Makes a piece of a cell's hotspots, with one func."""
    pieces = HotspotPiece.objects.filter(project_id=cell.project_id, cell_id=cell.id).count()
    return HotspotPiece.objects.create(
        project_id=cell.project_id,
        cell_id=cell.id,
        id=pieces + 1,
        func_ids=[func.id],
        self_samples=[samples],
        total_samples=[samples + 1],
        self_us=[self_us],
        total_us=[total_us],
        hidden_us=[hidden_us],
        views=[views],
    )


def make_call_tree(cell: Cell, nodes: Sequence[tuple[int, Func, int]]) -> CallTreePiece:
    """Adds a piece to a cell's call tree. A node is (prefix, func, self µs), each with one sample where it has time."""
    tree = CallTree(
        prefix=[prefix for prefix, _, _ in nodes],
        func=[func.id for _, func, _ in nodes],
        self_us=[self_us for _, _, self_us in nodes],
        self_samples=[1 if self_us else 0 for _, _, self_us in nodes],
        hidden_us=[0] * len(nodes),
    )
    pieces = CallTreePiece.objects.filter(project_id=cell.project_id, cell_id=cell.id).count()
    return CallTreePiece.objects.create(
        project_id=cell.project_id, cell_id=cell.id, id=pieces + 1, node_count=len(tree), blob=encode_call_tree(tree)
    )


def make_receipt(
    project: Project,
    *,
    release: str = "1.0.0",
    page: str = "/cart",
    state: Receipt.State = Receipt.State.FOLDED,
    age: timedelta = timedelta(minutes=1),
    interval_us: int = 10_000,
    view_id: UUID | None = None,
) -> Receipt:
    """Makes the receipt of a trace that came `age` ago, of a view of its own if none is named."""
    received_at = datetime.now(UTC) - age
    if age > DAY:
        create_partitions(received_at.date(), 1)
    receipt = Receipt.objects.create(
        project=project,
        view_id=view_id or uuid4(),
        seq=0,
        group_id=make_group(project, release, page).id,
        received_at=received_at,
        view_started_at=received_at,
        device_class=1,
        browser=1,
        end_reason=1,
        sample_rate=1.0,
        interval_us=interval_us,
        body_bytes=1_000,
        state=state,
    )
    count_receipts()
    return receipt


def count_receipts() -> None:
    """Counts all receipts anew, after some were made or changed directly."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ingest_receiptcount")
        cursor.execute(add_receipt_counts("ingest_tracereceipt", sign=1))


def make_raw_trace(receipt: Receipt, trace_id: str, body: bytes) -> RawTrace:
    """Makes the raw body of a receipt; whether it is gzip is told by its first bytes."""
    return RawTrace.objects.create(
        project_id=receipt.project_id,
        view_id=receipt.view_id,
        seq=receipt.seq,
        received_at=receipt.received_at,
        trace_id=trace_id,
        is_gzip=body[:2] == b"\x1f\x8b",
        body=body,
    )


def make_view(cell: Cell, receipt: Receipt) -> PageView:
    """Makes the row of a receipt's view, in a cell of the same group; without a contribution of its own."""
    parts = TimeParts()
    return PageView.objects.create(
        project_id=cell.project_id,
        view_id=receipt.view_id,
        group_id=cell.group_id,
        cell_id=cell.id,
        traces=1,
        is_truncated=False,
        fold_version=1,
        contribution=EMPTY_CONTRIBUTION,
        **{name: getattr(parts, name) for name in TimeParts.__slots__},
    )


def make_timed_views(
    project: Project,
    js_us: Sequence[int],
    *,
    hidden_us: int = 0,
    sample_rate: float | None = None,
    traits: int = 0,
    session: int | None = None,
    **cell: Any,
) -> Cell:
    """Makes a cell with a view for each of some times, each with as much hidden time, and the same traits and session.

    Their ids are the same in every run, and with them which of them a sample takes.
    """
    count = len(js_us)
    ordinal = Cell.objects.filter(project=project).count()
    made = make_cell(project, views=count, traces=count, js_us=sum(js_us), hidden_us=hidden_us * count, **cell)
    row = {
        **dict.fromkeys(TimeParts.__slots__, 0),
        "project_id": project.pk,
        "group_id": made.group_id,
        "cell_id": made.id,
        "traces": 1,
        "is_truncated": False,
        "fold_version": 1,
        "sample_rate": sample_rate,
        "traits": traits,
        "session": session,
        "contribution": EMPTY_CONTRIBUTION,
        "hidden_us": hidden_us,
    }
    rows = [
        {
            **row,
            "view_id": uuid5(NAMESPACE_OID, f"{project.slug} {ordinal} {number}"),
            "js_us": us,
            "span_us": us + hidden_us,
        }
        for number, us in enumerate(js_us)
    ]
    copy_rows(PageView._meta.db_table, rows)
    return made


def make_views_of_hours(
    project: Project, js_us: Sequence[int], *, starts_at: datetime, hours: int = 10, **cell: Any
) -> None:
    """Makes as many views of each of some hours, in the order of their times: a message needs more than one hour."""
    each = -(-len(js_us) // hours)
    for hour, first in enumerate(range(0, len(js_us), each)):
        make_timed_views(project, js_us[first : first + each], starts_at=starts_at + timedelta(hours=hour), **cell)


def copy_rows(table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes rows with the same columns by COPY: thousands take a twentieth of their time as objects of a model."""
    if not rows:
        return
    names = sql.SQL(", ").join(map(sql.Identifier, rows[0]))
    copying = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(table), names)
    with connection.cursor() as cursor, cursor.copy(copying) as copy:
        for row in rows:
            copy.write_row(list(row.values()))


def make_source(project: Project, path: str, content: str | None = None) -> Source:
    """Finds or makes an original source."""
    digest = blake2b(repr((path, content)).encode(), digest_size=16).digest()
    source = Source.objects.filter(project=project, digest=digest).first()
    packed = None if content is None else gzip.compress(content.encode())
    size = None if content is None else len(content.encode())
    return source or Source.objects.create(
        project=project,
        id=_next_id("aggregate_source", project),
        digest=digest,
        name=path,
        path=path,
        content=packed,
        size_bytes=size,
    )


def make_label(
    func: Func,
    release: str,
    path: str,
    name: str | None,
    *,
    line: int = 1,
    column: int = 1,
    body: bytes | None = None,
    content: str | None = None,
    is_shared: bool = False,
) -> Label:
    """Makes the label of a func in a release, as symbolication does, with its script where there is none."""
    project = func.project
    script = ReleaseScript.objects.filter(project=project, release=release, uri=func.uri).first()
    if script is None:
        script = ReleaseScript.objects.create(
            project=project,
            id=_next_id("aggregate_releasescript", project),
            release=release,
            uri=func.uri or "",
            file="app.js",
            is_shared=is_shared,
            map_id=1,
            uploaded_at=MONDAY,
        )
    ReleaseScript.objects.filter(project=project, id=script.id).update(attempts=F("attempts") + 1)
    scopes = None if content is None else read_scopes(content, path)
    text = None if scopes is None else scopes.find_text(line, column)
    return Label.objects.create(
        project=project,
        func_id=func.id,
        release=release,
        script_id=script.id,
        map_id=1,
        is_shared=is_shared,
        status=Label.Status.MAPPED,
        source_id=make_source(project, path, content).id,
        line=line,
        column=column,
        name=name,
        body_hash=body,
        first_line=None if text is None else text.first_line,
        last_line=None if text is None else text.last_line,
        text_digest=None if text is None else text.digest,
    )


def make_absence(
    project: Project,
    reason: str,
    *,
    views: int = 100,
    reports: int = 1,
    page: str = "/cart",
    browser: str = "chrome",
    status: int = 0,
    day_on: date | None = None,
    shard: int = 0,
) -> AbsentCount:
    """Makes the count of page views that recorded nothing, today if no day is named."""
    return AbsentCount.objects.create(
        project=project,
        day_on=day_on or datetime.now(UTC).date(),
        page=page,
        browser=BROWSERS.index(browser),
        reason=ABSENCE_REASONS.index(reason),
        status=status,
        shard=shard,
        reports=reports,
        views=views,
    )


def make_hang(
    project: Project,
    stack: str | None,
    *,
    release: str = "1.0.0",
    page: str = "/cart",
    reason: str | None = "unresponsive",
    count: int = 1,
    at: datetime | None = None,
) -> None:
    """Counts reports of a page that hung, now if no time is named."""
    body = {"reason": reason, "stack": stack, "crash_report_api": {"release": release, "page": page}}
    report = Report(type=CRASH, url="https://shop.example/cart", body=msgspec.Raw(json.dumps(body).encode()))
    hang = check_crash(0, report, [], CrashContext(), text_chars=200, page_chars=400)
    count_hangs(project.pk, [hang] * count, received_at=at or datetime.now(UTC))
