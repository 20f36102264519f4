"""The tables of source maps: uploaded files, the scripts of releases by URL, and the labels of funcs.

A label belongs to (release, func) and is joined when it is read; no folded data contains it.
"""

from typing import Final

from django.db import models
from django.db.models.functions import MD5

from projects.models import Project


class Artifact(models.Model):
    """The content of a bundle or source map, stored once per project. Private: no address serves it.

    `debug_id` pairs a map with a bundle of another upload.
    """

    class Kind(models.IntegerChoices):
        BUNDLE = 0
        MAP = 1

    pk = models.CompositePrimaryKey("project_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    id = models.IntegerField()
    kind = models.SmallIntegerField(choices=Kind.choices)
    digest = models.BinaryField()  # SHA-256 of the content
    debug_id = models.UUIDField(null=True)
    size_bytes = models.BigIntegerField()
    body = models.BinaryField()  # gzip
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "digest", "kind"], name="artifact_once")]
        indexes = [
            models.Index(
                fields=["project", "debug_id"], name="artifact_by_debug_id", condition=models.Q(debug_id__isnull=False)
            )
        ]


class UploadChunk(models.Model):
    """A part of an upload by Sentry's tools, by its SHA-1, until all are there. Private."""

    pk = models.CompositePrimaryKey("project_id", "digest")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    digest = models.BinaryField()
    body = models.BinaryField()
    created_at = models.DateTimeField()


class ReleaseScript(models.Model):
    """A script of a release: its URL as funcs have it, its path in the build folder, its bundle and its map.

    A URL below `~/` is not known yet: traces give one to the script's debug id (`aggregate.sourcemaps.debug_ids`).
    With `is_shared`, the URL has a content hash, so its labels also serve releases that have no script of that URL. The
    row is the queue entry of symbolication: it is pending while `pending_at` is set. Funcs of its URL up to
    `labelled_func_id` have their labels. `attempts` is the token of the worker that holds it until `claimed_until`.
    `claim_token` is the lease's. `failure` says why its map cannot be used; another upload, or another bundle,
    clears it.
    """

    pk = models.CompositePrimaryKey("project_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    id = models.IntegerField()
    release = models.TextField()
    uri = models.TextField()
    file = models.TextField()
    is_shared = models.BooleanField()
    bundle_id = models.IntegerField(null=True)
    map_id = models.IntegerField(null=True)
    debug_id = models.UUIDField(null=True)
    uploaded_at = models.DateTimeField()
    labelled_func_id = models.IntegerField(default=0)
    pending_at = models.DateTimeField(null=True)
    attempts = models.IntegerField(default=0)
    claim_token = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    failure = models.TextField(null=True)

    class Meta:
        constraints = [
            # A URI is too long for a B-tree.
            models.UniqueConstraint("project", "release", MD5("uri"), name="release_script_once")
        ]
        indexes = [
            models.Index("project", MD5("uri"), name="release_script_by_uri"),
            models.Index(
                fields=["pending_at"], name="release_script_queue", condition=models.Q(pending_at__isnull=False)
            ),
            models.Index(
                fields=["project", "debug_id"],
                name="release_script_debug_id",
                condition=models.Q(debug_id__isnull=False),
            ),
        ]


class Source(models.Model):
    """An original source that labels point to. Private.

    `name` is its name in the map. `path` is the name without the bundler's additions, from the root of the build: the
    same in every map and release (profcore.symbolicate.paths). `content` is gzip, null if the map has none.
    """

    pk = models.CompositePrimaryKey("project_id", "id")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    id = models.IntegerField()
    digest = models.BinaryField()  # of name, path and content
    name = models.TextField()
    path = models.TextField()
    content = models.BinaryField(null=True)
    size_bytes = models.BigIntegerField(null=True)  # of the content, expanded

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "digest"], name="source_once")]


class Label(models.Model):
    """The original of a func in a release: where it is defined, and its name there.

    `line` and `column` are 1-based; columns count UTF-16 units. `name` is null for an anonymous function. `body_hash`
    is a hash of the function's text without its names, so that a moved or renamed function is found again. It is null
    if the text is too short to say anything. `standing` distinguishes an anonymous function, or one of several with the
    same name, from the others of its source. `first_line` and `last_line` are those of its text, and `text_digest` is
    that of its tokens (`profcore.symbolicate.scopes.FunctionText`): no read parses a source. A func whose position no
    segment maps is unmapped, and has no more facts.

    A release without a label of its own for a func uses a shared one of another release (docs/adr/0014-names.md).
    """

    class Status(models.IntegerChoices):
        MAPPED = 0
        UNMAPPED = 1

    pk = models.CompositePrimaryKey("project_id", "func_id", "release")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False, db_constraint=False)
    func_id = models.IntegerField()
    release = models.TextField()
    script_id = models.IntegerField()
    map_id = models.IntegerField()
    is_shared = models.BooleanField()  # as its script
    status = models.SmallIntegerField(choices=Status.choices)
    source_id = models.IntegerField(null=True)
    line = models.IntegerField(null=True)
    column = models.IntegerField(null=True, db_column="col")
    name = models.TextField(null=True)
    body_hash = models.BinaryField(null=True)
    standing = models.TextField(null=True)
    first_line = models.IntegerField(null=True)
    last_line = models.IntegerField(null=True)
    text_digest = models.BinaryField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["project", "script_id"], name="label_of_script"),
            models.Index(
                fields=["project", "source_id"], name="label_of_source", condition=models.Q(source_id__isnull=False)
            ),
            models.Index(
                fields=["project", "body_hash"], name="label_by_body", condition=models.Q(body_hash__isnull=False)
            ),
        ]


MAPPED: Final = Label.Status.MAPPED.value  # for statements in SQL


class FuncScan(models.Model):
    """The last func of a project that was checked for uploaded scripts. Ids ascend in the order of commits."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True)
    func_id = models.IntegerField(default=0)
