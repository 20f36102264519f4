"""The endpoint's tables: groups, receipts, raw traces. Counts are in `count_models` and
`hang_models`, waiting chunks in `chunk_models`.

Every key begins with `project_id`, so that a cluster can shard by it. Ids are dense within a project and come from
`Counter` rows, not from sequences. Tables that grow with traffic have no foreign key to the project: its check would
lock the project's row for every post.
"""

from typing import Final

from django.db import models
from django.db.models import Q

from ingest import chunk_models as _registers_chunks  # noqa: F401
from ingest import count_models as _registers_counts  # noqa: F401
from ingest import hang_models as _registers_hangs  # noqa: F401
from ingest import pack_models as _registers_itself  # noqa: F401
from ingest import script_models as _registers_scripts  # noqa: F401
from projects.models import Project


class Counter(models.Model):
    """The next free dense id of one kind ("func", "group", "cell") in one project."""

    pk = models.CompositePrimaryKey("project_id", "kind")
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    kind = models.CharField(max_length=10)
    next_id = models.IntegerField(default=1)


class Group(models.Model):
    """release × page of a project: the unit of claiming and locking.

    Expiry closes a group without data, and deletes it later (`aggregate.maintenance.old_groups`). A closed one is
    opened again when a trace of it arrives.
    """

    pk = models.CompositePrimaryKey("project_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    id = models.IntegerField()
    release = models.TextField()
    page = models.TextField()
    first_seen_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "release", "page"], name="group_once")]


class DimensionColumns(models.Model):
    """The codes of a view's dimensions (`profcore.trace.dimensions`)."""

    device_class = models.SmallIntegerField()
    browser = models.SmallIntegerField()
    navigation = models.SmallIntegerField(db_default=0)
    cache = models.SmallIntegerField(db_default=0)
    environment = models.SmallIntegerField(db_default=0)
    sdk = models.SmallIntegerField(db_default=0)
    capture = models.SmallIntegerField(db_default=0)

    class Meta:
        abstract = True


class TraitColumns(models.Model):
    """What comparisons need of a view besides its dimensions (`profcore.trace.dimensions`). No sums are by it."""

    traits = models.SmallIntegerField(db_default=0)
    session = models.BigIntegerField(null=True)  # null: its sender named none

    class Meta:
        abstract = True


class Receipt(DimensionColumns, TraitColumns):
    """One accepted trace: its identity (project, view, seq), its place in the queue, and its state.

    The receipt is kept longer than the raw trace. Receipts are in partitions by the time of receipt, and the key is
    that of each of them (`ingest.storage.receipt_partitions`). The dimensions of a view are those of its first receipt,
    so that they do not depend on the order of folding. `claim_token` is that of the lease that holds it
    (`aggregate.worker_leases`).
    """

    class State(models.IntegerChoices):
        PENDING = 0
        FOLDED = 1
        REJECTED = 2

    pk = models.CompositePrimaryKey("project_id", "view_id", "seq")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    view_id = models.UUIDField()
    seq = models.IntegerField()
    group_id = models.IntegerField()
    received_at = models.DateTimeField()
    view_started_at = models.DateTimeField()
    end_reason = models.SmallIntegerField()
    request_trace = models.TextField(null=True)  # in a tracing system; null: its sender named none
    isolated = models.BooleanField(null=True)
    sample_rate = models.FloatField(null=True)  # null is 1, the usual value: it takes no space
    requested_interval_us = models.IntegerField(null=True)
    interval_us = models.IntegerField()
    measured_interval_us = models.IntegerField(null=True)
    used_interval_us = models.IntegerField(null=True)  # null if it is the reported one, as nearly always
    snippet_us = models.IntegerField(null=True)  # main-thread time of the sender itself, by its clock
    snippet_sampled_us = models.IntegerField(null=True)  # the same, by the samples in its own code
    body_bytes = models.IntegerField()  # expanded
    state = models.SmallIntegerField(choices=State.choices, default=State.PENDING)
    attempts = models.SmallIntegerField(default=0)
    crashes = models.SmallIntegerField(default=0)
    claim_token = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    fold_version = models.SmallIntegerField(null=True)
    reason = models.TextField(null=True)
    path = models.TextField(null=True)
    detail = models.TextField(null=True)

    class Meta:
        db_table = "ingest_tracereceipt"
        indexes = [  # conditions are on numbers of `State`, whose name is out of reach here
            models.Index(fields=["received_at"], name="tracereceipt_queue", condition=Q(state=0)),
            models.Index(
                fields=["project", "group_id", "received_at"], name="tracereceipt_group_queue", condition=Q(state=0)
            ),
            models.Index(fields=["project", "received_at"], name="tracereceipt_rejected", condition=Q(state=2)),
            models.Index(
                fields=["project", "request_trace"],
                name="tracereceipt_request_trace",
                condition=Q(request_trace__isnull=False),
            ),
        ]


class BorderReceipt(models.Model):
    """The identity of a trace that was received near the border of two partitions of receipts, for a day or two.

    Its key lets only one of them have a trace that is posted twice at the same moment
    (`ingest.storage.receipt_partitions`).
    """

    pk = models.CompositePrimaryKey("project_id", "view_id", "seq")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    view_id = models.UUIDField()
    seq = models.IntegerField()
    received_at = models.DateTimeField()


# The states of receipts, for statements in SQL.
PENDING: Final = Receipt.State.PENDING.value
FOLDED: Final = Receipt.State.FOLDED.value
REJECTED: Final = Receipt.State.REJECTED.value


class RawTrace(models.Model):
    """The body as it came, in daily partitions of `received_at`; created by hand-written SQL in the migration.

    If it lies in a pack (`ingest.storage.packs`), `body` is empty.
    """

    pk = models.CompositePrimaryKey("project_id", "view_id", "seq", "received_at")
    project_id = models.BigIntegerField()
    view_id = models.UUIDField()
    seq = models.IntegerField()
    received_at = models.DateTimeField()
    trace_id = models.UUIDField()
    is_gzip = models.BooleanField()
    body = models.BinaryField()
    pack_id = models.UUIDField(null=True)
    pack_offset = models.IntegerField(null=True)
    pack_length = models.IntegerField(null=True)

    class Meta:
        managed = False
        db_table = "ingest_rawtrace"
