"""The endpoint's entries for Celery."""

from datetime import UTC, datetime

from celery import shared_task

from ingest.joining import expire_waiting, join_chunks
from ingest.storage.partitions import DAYS_AHEAD, create_coming_partitions


@shared_task(name="ingest.make_partitions", ignore_result=True)
def make_partitions() -> None:
    """Creates the partitions of raw traces for the coming days."""
    create_coming_partitions(datetime.now(UTC).date(), DAYS_AHEAD)


@shared_task(name="ingest.join_chunks", ignore_result=True)
def join_waiting_chunks() -> None:
    """Stores chunks of other SDKs whose page is known, or late, as traces."""
    join_chunks()


@shared_task(name="ingest.expire_waiting", ignore_result=True)
def expire_what_waits() -> None:
    """Deletes what is no longer needed to join chunks with pages."""
    expire_waiting()
