"""Loading the demo: its project, its source maps, and its resampled page views with the dates of the last month."""

import gzip
import json
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Final

from django.db import transaction
from django.db.models import Min

from aggregate.label_models import ReleaseScript
from aggregate.sourcemaps.archives import open_archive
from aggregate.sourcemaps.uploading import store_build
from ingest.limits import envelope_limits
from ingest.models import Group, Receipt
from ingest.notify import notify_worker
from ingest.storage.groups import intern_groups
from ingest.storage.partitions import create_partitions
from ingest.storage.storing import Arrival, page_of, store_arrivals
from ops.demo.recordings import MAPS, Chunk, Recording, read_recordings
from ops.demo.resampling import Resampled, resample
from ops.demo.story import KEY, NAME, RELEASES, SHOP_HOST, SLUG
from profcore.trace.wire import check_posted, decode_envelope
from projects.creation import create_project
from projects.key_cache import KeyConfig, key_config_of
from projects.lifecycle import hold_project
from projects.models import IngestKey, Project

STALL_LIMIT_S: Final = 60.0
# A trace is received some seconds after it began. Traces of some hours are stored by one statement, and so are
# received at one time.
BATCH_HOURS: Final = 2
SENT_AFTER: Final = timedelta(seconds=10)
STATEMENT_VIEWS: Final = 50
NO_TRACE: Final = b'"marks":[],"trace":{"resources":[],"frames":[],"stacks":[],"samples":[]}}'


class DemoError(Exception):
    """The samples could not be loaded; the text is one sentence."""


def ensure_demo_project() -> Project:
    """Returns the demo project, and creates it if it is missing. Any origin may post to it: it has no private data.

    Raises DemoError if another project has its slug or key.
    """
    project = Project.objects.filter(slug=SLUG).first()
    if project is None:
        if IngestKey.objects.filter(public_key=KEY).exists():
            raise DemoError(f"Another project has the key {KEY!r}. Delete that project to load the demo.")
        with transaction.atomic():
            project, _ = create_project(slug=SLUG, key=KEY, origins=["*", f"https://{SHOP_HOST}"], name=NAME)
            project.is_sample = True
            project.save(update_fields=["is_sample"])
    if not project.is_sample:
        raise DemoError(
            f"There is a project {SLUG!r} that is not the demo; nothing was loaded into it. Delete it (Settings, "
            f"General) to load the demo."
        )
    return project


def upload_maps(project: Project) -> None:
    """Stores the scripts and source maps of all releases, the oldest first."""
    for release in RELEASES:
        with (MAPS / f"{release}.tar.gz").open("rb") as file, open_archive(file) as files:
            store_build(project.pk, release=release, url_prefixes=[f"https://{SHOP_HOST}/"], files=files)


def store_views(project: Project, now: datetime, views: int) -> Iterator[int]:
    """Stores resampled views as the endpoint would have, each at its time; yields the numbers of their traces.

    What is stored already stays as it is. Raises DemoError if the project is being deleted.
    """
    recordings = read_recordings()
    resampled = resample([(view.release, view.page, view.device) for view in recordings], now, views)
    key = key_config_of(project)
    for _, group in groupby(resampled, key=lambda view: (view.started_at.date(), view.started_at.hour // BATCH_HOURS)):
        batch = list(group)
        for start in range(0, len(batch), STATEMENT_VIEWS):
            part = batch[start : start + STATEMENT_VIEWS]
            arrivals = [arrival for view in part for arrival in make_arrivals(recordings[view.recording], view)]
            received_at = min(part[-1].started_at + SENT_AFTER, now)
            _store_batch(key, arrivals, received_at)
            yield len(arrivals)
        notify_worker()


def _store_batch(key: KeyConfig, arrivals: Sequence[Arrival], received_at: datetime) -> None:
    # Before the transaction: the process caches ids of groups, and a failed statement would end the transaction.
    intern_groups(
        key.project_id, [(arrival.envelope.release, page_of(arrival.envelope, key.route_rules)) for arrival in arrivals]
    )
    create_partitions(received_at.date(), 1)
    with transaction.atomic():
        if not hold_project(key.project_id):
            raise DemoError("The demo is being deleted; the rest of its views was not loaded.")
        # `alone` looks into all partitions: loaded again on another day, a view has another start.
        store_arrivals(key=key, arrivals=arrivals, received_at=received_at, alone=True)


def make_arrivals(recording: Recording, view: Resampled) -> list[Arrival]:
    """Returns the traces of a recording as those of another view: with its id, its dates and its browser."""
    shift_ms = view.started_at.timestamp() * 1000 - recording.started_ms
    return [_make_arrival(index, chunk, view, shift_ms) for index, chunk in enumerate(recording.chunks)]


def _make_arrival(index: int, chunk: Chunk, view: Resampled, shift_ms: float) -> Arrival:
    fields = chunk.fields | {
        "viewId": str(view.view_id),
        "timeOrigin": round(chunk.fields["timeOrigin"] + shift_ms, 1),
        "viewStart": round(chunk.fields["viewStart"] + shift_ms, 1),
        "userAgent": view.user_agent,
    }
    begin = json.dumps(fields, separators=(",", ":")).encode()[:-1] + b","
    envelope = decode_envelope(begin + NO_TRACE, envelope_limits())
    check_posted(envelope)
    return Arrival(
        index=index,
        envelope=envelope,
        body=gzip.compress(begin, 1, mtime=0) + chunk.packed_end,  # two members make one body
        is_gzip=True,
        expanded_bytes=len(begin) + chunk.end_bytes,
    )


def date_groups(project: Project) -> None:
    """Sets when each release and page was first seen: at its first trace, not when it was loaded."""
    firsts = Receipt.objects.filter(project=project).values_list("group_id").annotate(Min("received_at"))
    for group_id, first_at in firsts:
        Group.objects.filter(project=project, id=group_id).update(first_seen_at=first_at)


def count_pending(project: Project) -> int:
    """Returns how many traces are not folded yet."""
    return Receipt.objects.filter(project=project, state=Receipt.State.PENDING).count()


def count_unlabelled(project: Project) -> int:
    """Returns how many scripts wait for the names of their functions."""
    return ReleaseScript.objects.filter(project=project, pending_at__isnull=False).count()


def wait_until_done(count: Callable[[], int], show: Callable[[int], None], what: str) -> None:
    """Waits until a count is 0; shows it at each look. Raises DemoError if it stays the same for long."""
    least, moved_at = None, time.monotonic()
    while left := count():
        show(left)
        if least is None or left < least:
            least, moved_at = left, time.monotonic()
        elif time.monotonic() - moved_at > STALL_LIMIT_S:
            raise DemoError(f"{left} {what}, and there was no progress for {STALL_LIMIT_S:.0f} s; see worker.log.")
        time.sleep(0.1)
    show(0)
