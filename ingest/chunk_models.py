"""What other SDKs send in parts: chunks that do not name their page, and spans that do (`ingest.joining`).

The key of each begins with `project_id`, and none has a checked foreign key, as in `ingest.models`.
"""

from django.db import models
from django.db.models import Q

from projects.models import Project


class PendingChunk(models.Model):
    """A chunk of samples that waits for its page, as an envelope without one; times are epoch ms of the client.

    Once it is joined, its body and user agent are empty, and the row stays for an hour, to recognise a resend.
    """

    pk = models.CompositePrimaryKey("project_id", "profiler_id", "chunk_id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    profiler_id = models.UUIDField()  # one of each document
    chunk_id = models.UUIDField()
    received_at = models.DateTimeField()
    started_ms = models.FloatField()
    ended_ms = models.FloatField()
    joined_at = models.DateTimeField(null=True)
    user_agent = models.TextField()
    body = models.BinaryField()  # gzip

    class Meta:
        indexes = [
            models.Index(fields=["project", "received_at"], name="pendingchunk_queue", condition=Q(joined_at=None)),
            models.Index(fields=["project", "joined_at"], name="pendingchunk_joined", condition=~Q(joined_at=None)),
        ]


class PageSpan(models.Model):
    """What one item said of a page load or navigation (`profcore.formats.importers.sentry.page_spans`), for a day.

    Without `profiler_id` it has only marks of a span that leaves later. `about` is JSON, with the page as a route.
    """

    pk = models.CompositePrimaryKey("project_id", "span_id", "part")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    span_id = models.CharField(max_length=16)
    part = models.CharField(max_length=16)
    profiler_id = models.UUIDField(null=True)
    received_at = models.DateTimeField()
    started_ms = models.FloatField()
    about = models.BinaryField()

    class Meta:
        indexes = [
            models.Index(fields=["project", "profiler_id"], name="pagespan_profiler", condition=~Q(profiler_id=None)),
            models.Index(fields=["project", "received_at"], name="pagespan_age"),
        ]
