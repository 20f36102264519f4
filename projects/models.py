"""Projects, who may see them, what may write to them, and what was done to them."""

from typing import Final

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

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
    # Who owns which sources (profcore.code.owners), and the form for a new issue (profcore.code.issue_links).
    owner_rules = models.TextField(default="", db_default="", blank=True)
    issue_link_template = models.CharField(max_length=1_000, default="", db_default="", blank=True)
    # The link from a page view to its trace in a tracing system (profcore.code.source_links).
    trace_link_template = models.CharField(max_length=400, default="", db_default="", blank=True)
    # How functions are shown (profcore.code.display_rules).
    display_rules = models.JSONField(default=list, blank=True, db_default=models.Value([], models.JSONField()))
    # What pages record, for the snippet (profcore.trace.collection). Null, or empty, leaves it to the page.
    collection_off = models.BooleanField(default=False, db_default=False)
    collection_rate = models.FloatField(null=True, blank=True)
    collection_pages = models.JSONField(default=list, blank=True, db_default=models.Value([], models.JSONField()))
    collection_duration_ms = models.PositiveIntegerField(null=True, blank=True)
    collection_interactions = models.BooleanField(default=False, db_default=False)
    collection_absent_rate = models.FloatField(null=True, blank=True)
    collection_only_slow = models.BooleanField(default=False, db_default=False)
    collection_whole_rate = models.FloatField(null=True, blank=True)
    collection_experiment_rate = models.FloatField(null=True, blank=True)
    is_sample = models.BooleanField(default=False, db_default=False)  # the demo: its pages say so
    archived_at = models.DateTimeField(null=True, blank=True)  # the endpoint refuses its traces; it can be read
    # While it is deleted no one sees it. Rows are deleted in batches; the number at the start is an estimate.
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
            only_slow=self.collection_only_slow,
            whole_rate=self.collection_whole_rate,
            experiment_rate=self.collection_experiment_rate,
        )


class IngestKey(models.Model):
    """A public key: it names its project to the endpoint, and the origins that may use it (`*` = any)."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="keys")
    public_key = models.CharField(max_length=80, unique=True)
    origins = ArrayField(models.CharField(max_length=255), default=list)
    # The site of Datadog that gets what its SDK sends beside profiles (`projects.keys.DATADOG_SITES`); by default none.
    forwards_to = models.CharField(max_length=40, default="", db_default="", blank=True)
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
        ALERTS = "alerts"  # read and change alerts and channels

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tokens")
    prefix = models.CharField(max_length=12, unique=True)
    digest = models.CharField(max_length=64)
    name = models.CharField(max_length=80, default="")
    scopes = ArrayField(models.CharField(max_length=12, choices=Scope.choices))
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)  # null: until it is revoked
    last_used_at = models.DateTimeField(null=True, blank=True)  # within `NOTE_EVERY` (projects.tokens)
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
    act = models.CharField(max_length=40)  # of projects.audit.acts
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
            models.Index(fields=["actor_kind", "actor_id", "-at"], name="audit_by_actor"),
        ]

    def __str__(self) -> str:
        return f"{self.act} {self.at:%Y-%m-%d}"


class AnnouncedRelease(models.Model):
    """A release that a holder of a token named, by an upload of source maps or alone: its pages always have room.

    The rest is what was said about it (`projects.releases`). `range_link` leads to the commits between two, with
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
