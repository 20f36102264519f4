"""The tables of alerts: alerts, their states, each change of a state, and the messages about it.

The key of each begins with `project_id`, and ids come from the project's counters, as everywhere.
"""

from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from profcore.alerts.states import State
from projects.models import Project

STATES = [(state.value, state.name.capitalize()) for state in State]


class AlertRule(models.Model):
    """Something that is watched in a project, as data. `question` has what depends on the kind (`alerts.queries`).

    The release alert of a project has the id 0 and is created when it is first evaluated; it can be switched off, but
    not deleted. `due_at` is when it is evaluated next. Its row is locked meanwhile: that is the claim. `slug` is the
    name that a client of the API chose for it; alerts that were created on a page have no slug.
    """

    class Kind(models.TextChoices):
        RELEASE = "release"
        BUDGET = "budget"
        NEW_THIRD_PARTIES = "new_third_parties"

    pk = models.CompositePrimaryKey("project_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    id = models.IntegerField()
    kind = models.CharField(max_length=20, choices=Kind.choices)
    name = models.CharField(max_length=80)
    question = models.JSONField(default=dict)
    is_on = models.BooleanField(default=True)
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    evaluated_at = models.DateTimeField(null=True)
    problem = models.TextField(null=True)  # why it could not be evaluated the last time
    slug = models.CharField(max_length=64, null=True)

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="alert_due", condition=Q(is_on=True))]
        constraints = [
            models.UniqueConstraint(fields=["project", "slug"], name="alert_by_slug", condition=Q(slug__isnull=False))
        ]


class AlertFinding(models.Model):
    """What was found when a state was looked at, with its uncertainty.

    `page` is null for all pages together, and for alerts that ask for no page. `subject` names a function, party or
    package, or is empty. `value` is what was found, between `low` and `high` with 95 % certainty: of a release alert
    the change in ms per view, else the measured value in the unit of the alert, of which `threshold` is the bound.
    """

    alert_id = models.IntegerField()
    subject_key = models.BinaryField()  # digest of release, page and subject
    release = models.TextField(default="")
    base_release = models.TextField(default="")
    page = models.TextField(null=True)
    subject = models.TextField(default="")
    state = models.SmallIntegerField(choices=STATES)
    look = models.SmallIntegerField(null=True)
    base_views = models.BigIntegerField(null=True)
    views = models.BigIntegerField(default=0)
    value = models.FloatField(null=True)
    low = models.FloatField(null=True)
    high = models.FloatField(null=True)
    relative = models.FloatField(null=True)
    threshold = models.FloatField(null=True)
    q = models.FloatField(null=True)
    bound = models.FloatField(null=True)
    culprit = models.TextField(null=True)
    party = models.TextField(null=True)  # the third party that did it, of a release that did not
    began_at = models.DateTimeField(null=True)  # when it was first suspected, while that has not ended

    class Meta:
        abstract = True


class AlertState(AlertFinding):
    """The present state of one subject of an alert, with what was found at its last look or day."""

    pk = models.CompositePrimaryKey("project_id", "alert_id", "subject_key")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    bad = models.SmallIntegerField(default=0)
    quiet = models.SmallIntegerField(default=0)
    since_at = models.DateTimeField()
    seen_at = models.DateTimeField()  # of the last look, or the end of the last day

    class Meta:
        indexes = [models.Index(fields=["state"], name="state_open", condition=Q(state__in=(2, 3)))]


class StateChange(AlertFinding):
    """One change of a state, kept as history. `cause` says by what.

    If its release went out of use or came back, `views` are those of the last day: of the release, and in `base_views`
    of all others. `asked` is the alert at that time (`alerts.changes.alert_at`).
    """

    class Cause(models.TextChoices):
        LOOK = "look"
        DAY = "day"
        NEWER_RELEASE = "release"  # `about_release` is clearly faster
        PERSON = "person"  # a person accepted it
        GONE = "gone"  # the release is no longer in use: it was rolled back, mostly to `about_release`
        ROLLED_BACK = "rollback"  # the release was said to be rolled back; most have `about_release`
        BACK = "back"  # a release that was gone, or said to be rolled back, is in use again
        UNWATCHED = "unwatched"  # newer releases are evaluated instead: it stays *suspected*
        CHANGED = "changed"  # the alert asks something else now
        DELETED = "deleted"  # the alert was deleted

    pk = models.CompositePrimaryKey("project_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    id = models.IntegerField()
    at = models.DateTimeField()
    was = models.SmallIntegerField(choices=STATES)
    cause = models.CharField(max_length=10, choices=Cause.choices)
    about_release = models.TextField(default="")
    asked = models.JSONField()
    seen_at: datetime | None = None  # no column: of a present state in this form, when its figures were found

    class Meta:
        indexes = [
            models.Index(fields=["project", "-at"], name="change_by_age"),
            models.Index(fields=["project", "alert_id", "subject_key", "-id"], name="change_of_subject"),
        ]


class Channel(models.Model):
    """Where messages of a project go. `sealed` holds its address and its secret, encrypted (`alerts.sealing`).

    `hint` is what can be shown of the address. Times of quiet hours are minutes of the day in `time_zone`. It gets
    messages of the alerts in `alert_ids` about the pages that `pages` match (`profcore.alerts.routing`), and about the
    functions that `owners` own; null is all. `slug` is as of alerts.
    """

    class Kind(models.TextChoices):
        MAIL = "mail"
        WEBHOOK = "webhook"
        SLACK = "slack"
        TEAMS = "teams"

    pk = models.CompositePrimaryKey("project_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    id = models.IntegerField()
    kind = models.CharField(max_length=10, choices=Kind.choices)
    name = models.CharField(max_length=80)
    hint = models.CharField(max_length=255)
    sealed = models.BinaryField()
    is_on = models.BooleanField(default=True)
    tells_suspected = models.BooleanField(default=False)
    is_digest = models.BooleanField(default=False)
    quiet_from = models.SmallIntegerField(null=True)
    quiet_to = models.SmallIntegerField(null=True)
    time_zone = models.CharField(max_length=64, default="UTC")
    alert_ids = ArrayField(models.IntegerField(), null=True)
    pages = ArrayField(models.TextField(), null=True)
    owners = ArrayField(models.TextField(), null=True)
    created_at = models.DateTimeField()
    slug = models.CharField(max_length=64, null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "slug"], name="channel_by_slug", condition=Q(slug__isnull=False))
        ]


class Notice(models.Model):
    """The outbox: exactly one row for a change of a state and a channel, written with the change.

    `message_id` is null until it is put into a message.
    """

    pk = models.CompositePrimaryKey("project_id", "change_id", "channel_id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    change_id = models.IntegerField()
    channel_id = models.IntegerField()
    release = models.TextField(default="")
    due_at = models.DateTimeField()
    message_id = models.UUIDField(null=True)

    class Meta:
        indexes = [models.Index(fields=["due_at"], name="notice_due", condition=Q(message_id=None))]


class Message(models.Model):
    """A message to one channel, about some changes of one release or alert. Its id is the same in each attempt.

    A sender holds it until `claimed_until`; `attempts` counts the starts, and is its token.
    """

    class State(models.IntegerChoices):
        WAITING = 0
        SENT = 1
        FAILED = 2  # given up; it can be replayed

    pk = models.CompositePrimaryKey("project_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    id = models.UUIDField()
    channel_id = models.IntegerField()
    change_ids = ArrayField(models.IntegerField())
    title = models.TextField()
    state = models.SmallIntegerField(choices=State.choices, default=State.WAITING)
    created_at = models.DateTimeField()
    due_at = models.DateTimeField()
    attempts = models.IntegerField(default=0)
    tries = models.SmallIntegerField(default=0)  # attempts since it was created or replayed
    claimed_until = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    status = models.SmallIntegerField(null=True)  # the HTTP status of the last answer
    problem = models.TextField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["state", "due_at"], name="message_due", condition=Q(state__in=(0, 2))),
            models.Index(fields=["project", "-created_at"], name="message_by_age"),
        ]
