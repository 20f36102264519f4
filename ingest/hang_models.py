"""Pages that hung or crashed, as browsers reported them. The key begins with `project_id`, as in `ingest.models`."""

from django.db import models

from projects.models import Project


class HangCount(models.Model):
    """Reports of a UTC day about one page of a release that hung or crashed, for one reason and with one stack.

    `release` is empty if the page's header does not name it. `reason` and `stack_state` are codes, and `frames` are
    those of the first such report, the innermost first (`profcore.hangs`). `signature` is a digest of the frames.
    `originals` has the place of each frame in the original sources, null if no source map says so; it is null until
    one was looked for.
    """

    pk = models.CompositePrimaryKey("project_id", "day_on", "release", "page", "reason", "signature")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    day_on = models.DateField()
    release = models.TextField()
    page = models.TextField()
    reason = models.SmallIntegerField()
    signature = models.UUIDField()
    stack_state = models.SmallIntegerField()
    frames = models.JSONField()
    originals = models.JSONField(null=True)
    reports = models.BigIntegerField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["project"], name="hang_not_looked_up", condition=models.Q(originals__isnull=True))
        ]
