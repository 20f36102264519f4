"""Celery's entries of the door."""

from datetime import UTC, datetime

from celery import shared_task
from django.conf import settings

from ingest.partitions import create_coming_partitions


@shared_task(name="ingest.make_partitions", ignore_result=True)
def make_partitions() -> None:
    """Makes the raw traces' partitions of the coming days."""
    create_coming_partitions(datetime.now(UTC).date(), settings.TRACE_PARTITION_DAYS_AHEAD)
