"""The door's tables: projects with their members, groups, receipts, raw traces. Its counts are in `count_models`.

Every key begins with `project_id`, so that a cluster can shard by it. Ids are dense within a project and come from
`Counter` rows, not from sequences. Tables that grow with traffic have no foreign key to the project: its check would
lock the project's row for every post.
"""

from typing import Final

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from ingest import count_models as _registers_counts  # noqa: F401
from ingest.packs import models as _registers_itself  # noqa: F401
from profcore.trace.collection import Collection

DAYS: Final = [MinValueValidator(1), MaxValueValidator(36_500)]  # a century: more leads beyond year 1


class Project(models.Model):
    """One site or application, whose traces are kept separately from those of others."""

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    route_rules = ArrayField(models.CharField(max_length=400), default=list, blank=True)
    # Null means the setting's default: FIELDFLAME_KEEP_…_DAYS, FIELDFLAME_MAX_TRACES_PER_DAY, FIELDFLAME_MAX_…MB….
    keep_raw_days = models.PositiveIntegerField(null=True, blank=True, validators=DAYS)
    keep_views_days = models.PositiveIntegerField(null=True, blank=True, validators=DAYS)
    keep_cells_days = models.PositiveIntegerField(null=True, blank=True, validators=DAYS)
    max_traces_per_day = models.PositiveIntegerField(null=True, blank=True)
    max_mb_per_day = models.PositiveIntegerField(null=True, blank=True)
    max_kept_mb = models.PositiveIntegerField(null=True, blank=True)
    # The rules on the project's own code (profcore.code.code_rules), and the links to it (profcore.code.source_links).
    code_rules = models.JSONField(default=dict, blank=True, db_default=models.Value({}, models.JSONField()))
    source_link_template = models.CharField(max_length=400, default="", db_default="", blank=True)
    # How functions are shown (profcore.code.display_rules).
    display_rules = models.JSONField(default=list, blank=True, db_default=models.Value([], models.JSONField()))
    # What pages record, for the snippet (profcore.trace.collection). Null, or empty, leaves it to the page.
    collection_off = models.BooleanField(default=False, db_default=False)
    collection_rate = models.FloatField(null=True, blank=True)
    collection_pages = models.JSONField(default=list, blank=True, db_default=models.Value([], models.JSONField()))
    collection_duration_ms = models.PositiveIntegerField(null=True, blank=True)
    collection_interactions = models.BooleanField(default=False, db_default=False)
    collection_absent_rate = models.FloatField(null=True, blank=True)
    is_sample = models.BooleanField(default=False, db_default=False)  # the demo: its pages say so
    archived_at = models.DateTimeField(null=True, blank=True)  # the door refuses its traces; it can be read
    # While it is deleted nobody sees it. Rows are deleted in batches; the number at the start is an estimate.
    deletion_started_at = models.DateTimeField(null=True, blank=True)
    deleted_rows = models.BigIntegerField(null=True, blank=True)
    rows_to_delete = models.BigIntegerField(null=True, blank=True)

    def __str__(self) -> str:
        return self.slug

    @property
    def collection(self) -> Collection:
        """What the project's pages record."""
        return Collection(
            off=self.collection_off,
            rate=self.collection_rate,
            pages=tuple((pattern, rate) for pattern, rate in self.collection_pages),
            duration_ms=self.collection_duration_ms,
            interactions=self.collection_interactions,
            absent_rate=self.collection_absent_rate,
        )


class IngestKey(models.Model):
    """A public key: it names its project to the door, and the origins that may use it (`*` = any)."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="keys")
    public_key = models.CharField(max_length=80, unique=True)
    origins = ArrayField(models.CharField(max_length=255), default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.project.slug}:{self.public_key}"


class Membership(models.Model):
    """A person who may read (member) or administer (admin) a project. Without members, only superusers may."""

    class Role(models.TextChoices):
        MEMBER = "member"
        ADMIN = "admin"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices, default=Role.MEMBER)
    by_provider = models.BooleanField(default=False, db_default=False)  # kept in step with the provider's groups

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "user"], name="membership_once")]

    def __str__(self) -> str:
        return f"{self.project_id}:{self.user_id}:{self.role}"


class ProviderIdentity(models.Model):
    """Whom a login's provider means: its own id of a person, which never changes hands, and the account here."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="provider_identity")
    issuer = models.CharField(max_length=400)
    subject = models.CharField(max_length=255)  # OpenID Connect allows no more
    made_superuser = models.BooleanField(default=False)  # by a group: without it, no longer a superuser
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="identity_once")]

    def __str__(self) -> str:
        return f"{self.user_id}:{self.subject}"


class SavedView(models.Model):
    """A page of a project with its filters, under a name: of one member, or of all with `is_shared`.

    `path` is the part of the address behind the project's own, such as `tree/`.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="saved_views")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=80)
    path = models.CharField(max_length=400, blank=True)
    query = models.CharField(max_length=4_000, blank=True)
    is_shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.project_id}:{self.user_id}:{self.pk}"


class ApiToken(models.Model):
    """A token of the API: kept as a SHA-256, found by its prefix, shown once. `scopes` say what it may do."""

    class Scope(models.TextChoices):
        READ = "read"  # numbers, profiles, exports, jobs
        RAW = "raw"  # raw bodies, with full URLs and texts; goes with `read`
        SOURCEMAPS = "sourcemaps"  # announce releases, upload source maps
        ERASE = "erase"  # erase views, by their id or by a tag
        AUDIT = "audit"  # read the project's log of administration
        WATCHES = "watches"  # read and change watches and channels

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tokens")
    prefix = models.CharField(max_length=12, unique=True)
    digest = models.CharField(max_length=64)
    name = models.CharField(max_length=80, default="")
    scopes = ArrayField(models.CharField(max_length=12, choices=Scope.choices))
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)  # null: until it is revoked
    last_used_at = models.DateTimeField(null=True, blank=True)  # within `NOTE_EVERY` (ingest.projects.tokens)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.prefix}…"


class SharedLink(models.Model):
    """A link that lets people without an account read a project: kept as a SHA-256, found by its prefix, shown once.

    `page` is the address that it opens, below that of the project, as in `page/?release=1.0.0`. It ends when it
    expires, when it is revoked, or when its creator can no longer see the project.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="shared_links")
    creator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="shared_links")
    prefix = models.CharField(max_length=12, unique=True)
    digest = models.CharField(max_length=64)
    page = models.TextField()
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.prefix}…"


class AuditEntry(models.Model):
    """One act of administration: who, what, when, from where. A trigger refuses to change it, or to delete it early.

    It outlives the project and the account that it names, so it has no foreign keys, and no column `project_id`.
    """

    at = models.DateTimeField()
    kept_until = models.DateTimeField()  # set when it is written: a shorter retention later deletes nothing sooner
    act = models.CharField(max_length=40)  # of ingest.audit.acts
    actor_kind = models.CharField(max_length=10)
    actor_id = models.BigIntegerField(null=True)
    actor_name = models.CharField(max_length=150)
    network = models.CharField(max_length=16)  # a keyed hash of the address
    project_number = models.BigIntegerField(null=True)
    project_slug = models.CharField(max_length=60)
    about = models.JSONField()

    class Meta:
        indexes = [
            models.Index(fields=["project_number", "-id"], name="audit_by_project"),
            models.Index(fields=["kept_until"], name="audit_to_expire"),
        ]

    def __str__(self) -> str:
        return f"{self.act} {self.at:%Y-%m-%d}"


class Counter(models.Model):
    """The next free dense id of one kind ("func", "group", "cell") in one project."""

    pk = models.CompositePrimaryKey("project_id", "kind")
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    kind = models.CharField(max_length=10)
    next_id = models.IntegerField(default=1)


class Group(models.Model):
    """release × page of a project: the unit of claiming and locking.

    Expiry closes a group without data, and deletes it later (`aggregate.upkeep.old_groups`). A closed one is opened
    again when a trace of it arrives.
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


class AnnouncedRelease(models.Model):
    """A release that a holder of a token named, by an upload of source maps or alone: its pages always have room.

    The rest is what was said about it (`ingest.projects.releases`). `range_link` leads to the commits between two, with
    `{base}` and `{head}` in it. A release with `rolled_back_at` is not in use since then.
    """

    pk = models.CompositePrimaryKey("project_id", "release")
    project = models.ForeignKey(Project, on_delete=models.CASCADE)
    release = models.TextField()
    announced_at = models.DateTimeField()
    commit = models.TextField(null=True)
    base_commit = models.TextField(null=True)
    released_at = models.DateTimeField(null=True)
    author = models.TextField(null=True)
    link = models.TextField(null=True)
    range_link = models.TextField(null=True)
    rolled_back_at = models.DateTimeField(null=True)


class Receipt(models.Model):
    """One accepted trace: its identity (project, view, seq), its place in the queue, and its state.

    The receipt is kept longer than the raw trace. Receipts are in partitions by the time of receipt, and the key is
    that of each of them (`ingest.receipt_partitions`). The dimensions of a view are those of its first receipt, so that
    they do not depend on the order of folding. `claim_token` is that of the claimant that holds it
    (`aggregate.claimants`).
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
    device_class = models.SmallIntegerField()
    browser = models.SmallIntegerField()
    navigation = models.SmallIntegerField(db_default=0)
    end_reason = models.SmallIntegerField()
    isolated = models.BooleanField(null=True)
    sample_rate = models.FloatField(null=True)  # null is 1, the usual value: it takes no space
    requested_interval_us = models.IntegerField(null=True)
    interval_us = models.IntegerField()
    measured_interval_us = models.IntegerField(null=True)
    used_interval_us = models.IntegerField(null=True)  # null if it is the reported one, as nearly always
    snippet_us = models.IntegerField(null=True)  # main-thread time of the sender itself
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
        ]


class BorderReceipt(models.Model):
    """The identity of a trace that was received near the border of two partitions of receipts, for a day or two.

    Its key lets only one of them have a trace that is posted twice at the same moment (`ingest.receipt_partitions`).
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

    If it lies in a pack (`ingest.packs`), `body` is empty.
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
