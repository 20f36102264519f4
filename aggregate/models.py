"""The fold's tables: funcs, cells, hotspots, views with their contributions, call trees. Sums are exact integers."""

from typing import Final

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import MD5

from aggregate import label_models as _registers_itself  # noqa: F401
from ingest.models import DimensionColumns, TraitColumns
from profcore.trace.dimensions import DIMENSION_COLUMNS
from projects.models import Project


class Func(models.Model):
    """A function as the wire names it: (resource URI, line, column, name). `digest` is that of this key.

    `line` and `column` are 1-based and say where the function is defined. `name` is repaired UTF-8.
    """

    pk = models.CompositePrimaryKey("project_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False)
    id = models.IntegerField()
    digest = models.BinaryField()
    name = models.TextField()
    uri = models.TextField(null=True)
    line = models.BigIntegerField(null=True)
    column = models.BigIntegerField(null=True, db_column="col")
    unused_since = models.DateTimeField(null=True)  # set before it is deleted, cleared when it is used again

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "digest"], name="func_once")]
        indexes = [
            # The funcs of a script from some id on, for symbolication. A URI is too long for a B-tree.
            models.Index("project", MD5("uri"), "id", name="func_by_uri", condition=models.Q(uri__isnull=False)),
            models.Index(fields=["project"], name="func_unused", condition=models.Q(unused_since__isnull=False)),
        ]


class InlineOrigin(models.Model):
    """An origin of whose pages inline scripts were met: one of the project's own, if its keys take any origin."""

    pk = models.CompositePrimaryKey("project_id", "origin")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    origin = models.TextField()


class FuncDay(models.Model):
    """The number of funcs that a project made on a UTC day, and how often one was beyond its room.

    A func that is met again the same day counts in `beyond` again.
    """

    pk = models.CompositePrimaryKey("project_id", "day_on")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    day_on = models.DateField()
    made = models.IntegerField()
    beyond = models.BigIntegerField()


class TimePartColumns(models.Model):
    """Columns for the parts of time and their samples.

    js + hidden + engine + idle + unobserved + profiler = span, exactly.
    """

    js_us = models.BigIntegerField()
    hidden_us = models.BigIntegerField()
    engine_us = models.BigIntegerField(default=0, db_default=0)
    idle_us = models.BigIntegerField()
    unobserved_us = models.BigIntegerField()
    profiler_us = models.BigIntegerField()
    span_us = models.BigIntegerField()
    js_samples = models.BigIntegerField()
    hidden_samples = models.BigIntegerField()
    engine_samples = models.BigIntegerField(default=0, db_default=0)
    idle_samples = models.BigIntegerField()
    profiler_samples = models.BigIntegerField()
    # µs by marker, in the order of profcore.trace.weights.MARKERS; null if no sample had a marker.
    marker_us = ArrayField(models.BigIntegerField(), null=True)

    class Meta:
        abstract = True


class Cell(DimensionColumns, TimePartColumns):
    """The smallest aggregate kept: group × bucket × dimensions, with exact sums."""

    class Grain(models.IntegerChoices):
        HOUR = 0
        DAY = 1

    pk = models.CompositePrimaryKey("project_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False)
    id = models.IntegerField()
    group_id = models.IntegerField()
    starts_at = models.DateTimeField()
    grain = models.SmallIntegerField(choices=Grain.choices, default=Grain.HOUR)
    merged_into = models.IntegerField(null=True)
    is_rolled = models.BooleanField(default=False, db_default=False)  # it is in the roll-up of its day
    fold_version = models.SmallIntegerField()
    views = models.BigIntegerField()
    truncated_views = models.BigIntegerField(db_default=0)
    traces = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "group_id", "starts_at", "grain", *DIMENSION_COLUMNS], name="cell_once"
            )
        ]
        indexes = [
            models.Index(
                fields=["starts_at"], name="cell_to_merge", condition=models.Q(grain=0, merged_into__isnull=True)
            ),
            models.Index(
                fields=["starts_at"], name="cell_to_roll", condition=models.Q(is_rolled=False, merged_into=None)
            ),
            models.Index(fields=["project", "starts_at"], name="cell_by_bucket"),
        ]


# The grains of cells, for statements in SQL.
HOUR_GRAIN: Final = Cell.Grain.HOUR.value
DAY_GRAIN: Final = Cell.Grain.DAY.value


class HotspotPiece(models.Model):
    """One part of the exact sums of a cell's funcs: an array per sum, in the order of `func_ids`, which ascend.

    A func's sums are the sums over the cell's pieces. The view `aggregate_hotspot` has a row for each func of a piece.
    Folds append pieces; many are merged. An array that is null has zeros only.

    Hidden time is in neither self nor total, and uncertain time in neither of them. `views` counts the views with a JS
    sample of the func. A func with only hidden time has no views. It appears because it called the profiler, and such
    samples are not JS of their callers either.
    """

    pk = models.CompositePrimaryKey("project_id", "cell_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    cell_id = models.IntegerField()
    id = models.IntegerField()
    func_ids = ArrayField(models.IntegerField())
    self_samples = ArrayField(models.BigIntegerField())
    total_samples = ArrayField(models.BigIntegerField())
    self_us = ArrayField(models.BigIntegerField())
    total_us = ArrayField(models.BigIntegerField())
    hidden_us = ArrayField(models.BigIntegerField(), null=True)
    hidden_total_us = ArrayField(models.BigIntegerField(), null=True)
    uncertain_us = ArrayField(models.BigIntegerField(), null=True)
    views = ArrayField(models.BigIntegerField())


class DayHotspot(models.Model):
    """The roll-up of hotspots: one func's sums in all rolled cells of a group's UTC day. Changed with them."""

    pk = models.CompositePrimaryKey("project_id", "group_id", "day_at", "func_id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    group_id = models.IntegerField()
    func_id = models.IntegerField()
    day_at = models.DateTimeField()
    self_samples = models.BigIntegerField()
    total_samples = models.BigIntegerField()
    self_us = models.BigIntegerField()
    total_us = models.BigIntegerField()
    hidden_us = models.BigIntegerField()
    hidden_total_us = models.BigIntegerField()
    uncertain_us = models.BigIntegerField(default=0, db_default=0)
    views = models.BigIntegerField()


class PageView(TraitColumns, TimePartColumns):
    """One page view and its contribution: its part of its cell, replaced when another trace of the view arrives."""

    pk = models.CompositePrimaryKey("project_id", "view_id", "group_id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    view_id = models.UUIDField()
    group_id = models.IntegerField()
    cell_id = models.IntegerField()
    traces = models.IntegerField()
    is_truncated = models.BooleanField()
    fold_version = models.SmallIntegerField()
    # The share of views that its page records, from its first receipt; null if it records all.
    sample_rate = models.FloatField(null=True)
    contribution = models.BinaryField()
    # For one view these fit into four bytes: 68 years at one sample per second.
    js_samples = models.IntegerField()
    hidden_samples = models.IntegerField()
    engine_samples = models.IntegerField(default=0, db_default=0)
    idle_samples = models.IntegerField()
    profiler_samples = models.IntegerField()

    class Meta:
        indexes = [
            # A cell's views in the uniform order of samples (profcore.stats.sampling).
            models.Index(
                "project", "cell_id", models.Func("view_id", function="fieldflame_sample_key"), name="view_to_sample"
            )
        ]


class CallTreePiece(models.Model):
    """One blob of a cell's call tree, which is the merge of its pieces. Folds append pieces; many are merged."""

    pk = models.CompositePrimaryKey("project_id", "cell_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    cell_id = models.IntegerField()
    id = models.IntegerField()
    node_count = models.IntegerField()
    blob = models.BinaryField()


class DayTreePiece(models.Model):
    """One blob of the roll-up of call trees, of all rolled cells of a group's UTC day. As the pieces of cells."""

    pk = models.CompositePrimaryKey("project_id", "group_id", "day_at", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    group_id = models.IntegerField()
    day_at = models.DateTimeField()
    id = models.IntegerField()
    node_count = models.IntegerField()
    blob = models.BinaryField()


class PageDay(TimePartColumns):
    """The roll-up: the sums of a group's cells of one UTC day. Changed with them, in the same statement."""

    pk = models.CompositePrimaryKey("project_id", "group_id", "day_at")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    group_id = models.IntegerField()
    day_at = models.DateTimeField()
    views = models.BigIntegerField()
    truncated_views = models.BigIntegerField()
    traces = models.BigIntegerField()
    marker_us = None  # read from cells, which is rare

    class Meta:
        indexes = [models.Index(fields=["project", "day_at"], name="pageday_by_day")]


class RefoldRun(models.Model):
    """The progress of a refold, so that a killed one can continue: cells up to `last_cell_id` are done."""

    pk = models.CompositePrimaryKey("project_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False)
    id = models.IntegerField()
    release = models.TextField(null=True)
    from_at = models.DateTimeField(null=True)
    to_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    fold_version = models.SmallIntegerField(db_default=0)  # a run continues only under its own fold version
    first_new_cell_id = models.IntegerField()
    last_cell_id = models.IntegerField(default=0)
    cells = models.IntegerField(default=0)
    kept_cells = models.IntegerField(default=0)
    is_background = models.BooleanField(default=False, db_default=False)  # started by beat, after a change of the rules
    total_cells = models.IntegerField(null=True)  # of a background run, at its start
    paused_at = models.DateTimeField(null=True)


class VerdictLook(models.Model):
    """A look that the release alert took at two releases, with the information it had (`alerts.releases`).

    `question` is a digest of both sides. `reached` is the part of the plan that was reached, `bound` the q below which
    a change was clear.
    """

    pk = models.CompositePrimaryKey("project_id", "question", "number")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    question = models.BinaryField()
    number = models.SmallIntegerField()
    looked_at = models.DateTimeField()
    reached = models.FloatField()
    information = models.FloatField()
    bound = models.FloatField()

    class Meta:
        indexes = [models.Index(fields=["project", "looked_at"], name="look_by_age")]


class WorkerLease(models.Model):
    """A process that claims traces, jobs or scripts, under a token of its own (`aggregate.worker_leases`).

    Its claims hold while it beats. `host` and `process` tell others on its machine at once that it was killed.
    """

    token = models.UUIDField(primary_key=True)
    host = models.TextField()
    process = models.TextField()
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()
    fold_version = models.SmallIntegerField()  # its rules of folding


class Job(models.Model):
    """A question too large for an immediate answer. Its row is the queue entry, as a receipt is that of a trace.

    `params` are (name, value) pairs in the read API's words. `total_traces` is null until they are counted. `attempts`
    counts how often the job was begun. It is also the token of the worker that holds it: a worker that finds another
    number in the row has lost the job. `claim_token` is its lease's. A result is stored in pieces of gzip. `counts`
    are sums over all attempts, of jobs that change what they find.
    """

    class State(models.IntegerChoices):
        QUEUED = 0
        RUNNING = 1
        DONE = 2
        FAILED = 3
        CANCELLED = 4

    pk = models.CompositePrimaryKey("project_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False)
    id = models.UUIDField()
    kind = models.CharField(max_length=20)
    params = models.JSONField()
    counts = models.JSONField(null=True)
    link = models.TextField()
    state = models.SmallIntegerField(choices=State.choices, default=State.QUEUED)
    done_traces = models.BigIntegerField(default=0)
    total_traces = models.BigIntegerField(null=True)
    error_field = models.TextField(null=True)
    error_detail = models.TextField(null=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    attempts = models.SmallIntegerField(default=0)
    claim_token = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    content_type = models.TextField(null=True)
    file_name = models.TextField(null=True)
    result_bytes = models.BigIntegerField(default=0)  # packed, as stored

    class Meta:
        indexes = [
            models.Index(fields=["created_at"], name="job_queue", condition=models.Q(state__lte=1)),
            models.Index(fields=["project", "created_at"], name="job_by_age"),
        ]

    @property
    def is_finished(self) -> bool:
        """Returns whether the job is done, failed or cancelled."""
        return self.state not in (self.State.QUEUED, self.State.RUNNING)


class QueueTurn(models.Model):
    """When a queue last took an entry of a project. Queues take the projects by it, so none delays the others."""

    class Queue(models.IntegerChoices):
        JOBS = 0
        SCRIPTS = 1

    pk = models.CompositePrimaryKey("project_id", "queue")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    queue = models.SmallIntegerField(choices=Queue.choices)
    last_turn_at = models.DateTimeField()


class StoreSize(models.Model):
    """The size of the database at an hour, for its growth (`aggregate.maintenance.store_sizes`)."""

    measured_at = models.DateTimeField(primary_key=True)
    database_bytes = models.BigIntegerField()


class JobPiece(models.Model):
    """A piece of a job's result, of at most `JOB_PIECE_BYTES`; the result is the pieces in their order."""

    pk = models.CompositePrimaryKey("project_id", "job_id", "number")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    job_id = models.UUIDField()
    number = models.IntegerField()
    body = models.BinaryField()
