"""The endpoint's entries for Celery."""

from datetime import UTC, datetime

from celery import shared_task

from ingest.storage.partitions import DAYS_AHEAD, create_coming_partitions


@shared_task(name="ingest.make_partitions", ignore_result=True)
def make_partitions() -> None:
    """Creates the partitions of raw traces for the coming days."""
    create_coming_partitions(datetime.now(UTC).date(), DAYS_AHEAD)
