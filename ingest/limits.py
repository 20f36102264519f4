"""The door's limits as one value, from the settings that name them."""

from functools import cache

from django.conf import settings

from profcore.wire import Limits


@cache
def envelope_limits() -> Limits:
    """Returns the limits of one envelope."""
    return Limits(
        samples=settings.INGEST_MAX_SAMPLES,
        stacks=settings.INGEST_MAX_STACKS,
        frames=settings.INGEST_MAX_FRAMES,
        resources=settings.INGEST_MAX_RESOURCES,
        depth=settings.INGEST_MAX_DEPTH,
        name_chars=settings.INGEST_MAX_NAME_CHARS,
        uri_chars=settings.INGEST_MAX_URI_CHARS,
        text_chars=settings.INGEST_MAX_TEXT_CHARS,
        page_chars=settings.INGEST_MAX_PAGE_CHARS,
        marks=settings.INGEST_MAX_MARKS,
        tags=settings.INGEST_MAX_TAGS,
        values=settings.INGEST_MAX_VALUES,
        timestamp_ms=float(settings.INGEST_MAX_TIMESTAMP_MS),
    )
