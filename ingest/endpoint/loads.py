"""The endpoint `/ingest/v1/loads`, where pages tell how soon they were there, with the header and without."""

from datetime import UTC, date, datetime
from typing import Final

from django.conf import settings
from django.db import Error, connection

from ingest.deadline import release_connection, with_deadline
from ingest.endpoint.admission import ABSENT_RATE, admit_report, find_sender
from ingest.endpoint.requests import BodyTooLarge, IngestRequest, key_in, read_fields
from ingest.endpoint.responses import (
    IngestResponse,
    answer_error,
    answer_nothing,
    answer_preflight,
    answer_wrong_method,
    explain_outage,
)
from profcore.errors import TraceError
from profcore.vitals.page_loads import PageLoad, read_page_load

MAX_QUERY_BYTES: Final = 1_024  # a key, and six numbers
ALLOWED: Final = "GET, OPTIONS"


def take_load(post: IngestRequest) -> IngestResponse:
    """Counts a report by the ingest contract (docs/ingest.md) and answers 204."""
    if post.method == "OPTIONS":
        return answer_preflight(post.wanted_headers, ALLOWED)
    if post.method != "GET":
        return answer_wrong_method(ALLOWED, "How soon a page was there is said by the parameters of a GET.")
    try:
        with with_deadline(settings.INGEST_DATABASE_WAIT_MS / 1_000):
            if len(post.query) > MAX_QUERY_BYTES:
                raise BodyTooLarge("sent", MAX_QUERY_BYTES)
            key = find_sender(key_in(post.query))
            admit_report(post, key, ABSENT_RATE)
            release_connection()
            fields = {name: texts[-1] for name, texts in read_fields(post.query).items()}
            count_load(key.project_id, read_page_load(fields), day_on=datetime.now(UTC).date())
    except TraceError as error:
        return answer_error(error)
    except Error as error:
        return answer_error(explain_outage(error))
    return answer_nothing()


def count_load(project_id: int, load: PageLoad, *, day_on: date) -> None:
    """Adds a load to the counts of its day. One statement.

    A day has at most four vitals × two sides × the buckets. Raises `django.db.Error`.
    """
    vitals = sorted(load.buckets)
    with connection.cursor() as cursor:
        cursor.execute(
            """INSERT INTO ingest_loadcount AS c (project_id, day_on, vital, has_header, bucket, loads)
               SELECT %s, %s, sent.vital, %s, sent.bucket, 1
               FROM unnest(%s::smallint[], %s::smallint[]) AS sent (vital, bucket)
               ORDER BY sent.vital
               ON CONFLICT (project_id, day_on, vital, has_header, bucket) DO UPDATE SET loads = c.loads + 1""",
            [project_id, day_on, load.has_header, vitals, [load.buckets[vital] for vital in vitals]],
        )
