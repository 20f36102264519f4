"""What traces say of their scripts beside the functions."""

from django.db import models

from projects.models import Project


class ScriptDebugId(models.Model):
    """A debug id that a trace of a release gave a script, with when it was first seen: by it, a source map is found.

    Anybody can post one. So the first that has a map counts, and only for a URL that no upload names
    (`aggregate.sourcemaps.debug_ids`). `uri_hash` is the MD5 of the URI as funcs have it.
    """

    pk = models.CompositePrimaryKey("project_id", "release", "uri_hash", "debug_id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    release = models.TextField()
    uri_hash = models.UUIDField()
    debug_id = models.UUIDField()
    uri = models.TextField()
    seen_at = models.DateTimeField()
