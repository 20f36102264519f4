"""The limits of envelopes and of imports, as one value each, from the settings."""

from functools import cache

from django.conf import settings

from profcore.caching import keep
from profcore.formats.importers.shapes import ImportLimits
from profcore.trace.wire import Limits


@keep
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


def import_limits() -> ImportLimits:
    """Returns the limits of one imported file."""
    return ImportLimits(
        file_bytes=settings.IMPORT_MAX_FILE_BYTES,
        input_bytes=settings.IMPORT_MAX_INPUT_BYTES,
        expanded_bytes=settings.IMPORT_MAX_EXPANDED_BYTES,
        nesting=settings.IMPORT_MAX_NESTING,
        members=settings.IMPORT_MAX_MEMBERS,
        traces=settings.IMPORT_MAX_TRACES,
        samples=settings.IMPORT_MAX_SAMPLES,
        values=settings.IMPORT_MAX_VALUES,
        trace_bytes=settings.INGEST_MAX_EXPANDED_BYTES,
        envelope=envelope_limits(),
    )
