"""The table of packs: objects with the bodies of traces (docs/object-storage.md)."""

from django.db import models
from django.db.models import Q

from projects.models import Project


class Pack(models.Model):
    """An object with the bodies of some traces of one project, received on one UTC day.

    `tidy_at`: since when it has bytes that no row names, and waits to be written anew without them. `doomed_at`: since
    when no row names it, and none ever will. `deleted_at`: its object was deleted; the row stays for some days if no
    trace was ever stored with it, so that none can be, however late its statement comes.
    """

    pk = models.CompositePrimaryKey("project_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    id = models.UUIDField()
    day_on = models.DateField()
    traces = models.IntegerField()
    bytes = models.BigIntegerField()
    tidy_at = models.DateTimeField(null=True)
    doomed_at = models.DateTimeField(null=True)
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "ingest_pack"
        indexes = [
            models.Index(fields=["day_on", "project"], name="pack_by_day"),
            models.Index(fields=["tidy_at"], name="pack_to_tidy", condition=Q(tidy_at__isnull=False)),
            models.Index(
                fields=["doomed_at"], name="pack_doomed", condition=Q(doomed_at__isnull=False, deleted_at__isnull=True)
            ),
            models.Index(fields=["deleted_at"], name="pack_deleted", condition=Q(deleted_at__isnull=False)),
        ]
