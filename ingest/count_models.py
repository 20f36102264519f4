"""What the endpoint counts by hour and day: receipts, refusals, views without a recording, loads, what quotas bound.

The key of each begins with `project_id`, and none has a checked foreign key, as in `ingest.models`.
"""

from django.db import models

from projects.models import Project


class ReceiptCount(models.Model):
    """The number of folded and rejected receipts of a project and hour; changed in the same statement as they are."""

    pk = models.CompositePrimaryKey("project_id", "hour_at")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    hour_at = models.DateTimeField()
    folded = models.BigIntegerField()
    rejected = models.BigIntegerField()
    last_received_at = models.DateTimeField()


class Refusal(models.Model):
    """The number of envelopes that the endpoint refused, by project, hour and reason; `shard` spreads a hot row."""

    pk = models.CompositePrimaryKey("project_id", "hour_at", "reason", "shard")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    hour_at = models.DateTimeField()
    reason = models.CharField(max_length=40)
    shard = models.SmallIntegerField()
    count = models.BigIntegerField()


class AbsentCount(models.Model):
    """Page views of a UTC day that recorded nothing, by why: reports, and the views that they stand for.

    `status` is the HTTP status of the reason `status`, else 0. `shard` spreads a hot row.
    """

    pk = models.CompositePrimaryKey("project_id", "day_on", "page", "browser", "reason", "status", "shard")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    day_on = models.DateField()
    page = models.TextField()
    browser = models.SmallIntegerField()
    reason = models.SmallIntegerField()  # an index into profcore.trace.absence.ABSENCE_REASONS
    status = models.SmallIntegerField()
    shard = models.SmallIntegerField()
    reports = models.BigIntegerField()
    views = models.BigIntegerField()


class LoadCount(models.Model):
    """Page loads of a UTC day by one of their vitals, with the header and without, in buckets of time."""

    pk = models.CompositePrimaryKey("project_id", "day_on", "vital", "has_header", "bucket")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    day_on = models.DateField()
    vital = models.SmallIntegerField()  # an index into profcore.vitals.page_loads.LOAD_VITALS
    has_header = models.BooleanField()
    bucket = models.SmallIntegerField()
    loads = models.BigIntegerField()


class DayCount(models.Model):
    """The number of traces that a project with a quota sent in a UTC day."""

    pk = models.CompositePrimaryKey("project_id", "day_on")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    day_on = models.DateField()
    traces = models.BigIntegerField()


class DayBytes(models.Model):
    """The bytes of the raw traces that a project had stored on a UTC day, as stored; `shard` spreads a hot row."""

    pk = models.CompositePrimaryKey("project_id", "day_on", "shard")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    day_on = models.DateField()
    shard = models.SmallIntegerField()
    bytes = models.BigIntegerField()
