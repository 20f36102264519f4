"""Moving a release's scripts to the address from which its traces came, without uploading their files again."""

from django.db import connection, transaction

from aggregate.label_models import ReleaseScript
from aggregate.sourcemaps.deleting import delete_scripts
from aggregate.sourcemaps.queue import SYMBOLICATE_FLAG, SYMBOLICATE_TASK
from aggregate.sourcemaps.script_locks import lock_scripts
from aggregate.sourcemaps.scripts import ScriptRow, write_scripts
from aggregate.sourcemaps.uploading import PREFIX_RULE, UploadError
from aggregate.sourcemaps.wildcards import COVERS, HAS_WILDCARD
from ingest.notify import notify_worker
from profcore.symbolicate.paths import has_content_hash, is_url_prefix, script_uri
from profcore.trace.funcs import MAX_URI_CHARS, is_cut
from projects.audit.acts import Act
from projects.audit.entries import record


def move_scripts(project_id: int, release: str, prefix: str) -> int:
    """Gives the files of a release URLs below a prefix, and returns their number; notifies a worker.

    Scripts at other addresses are deleted if no trace named them. Raises `UploadError`.
    """
    if not is_url_prefix(prefix):
        raise UploadError("url_prefix", f"{prefix!r} {PREFIX_RULE}")
    with transaction.atomic():
        lock_scripts(project_id)
        scripts = ReleaseScript.objects.filter(project_id=project_id, release=release)
        rows: dict[str, ScriptRow] = {}
        for script in scripts.order_by("map_id", "id"):  # without a map last: it replaces none
            url = script_uri(prefix, script.file)
            if is_cut(url):
                raise UploadError("url_prefix", f"the URL of {script.file} is longer than {MAX_URI_CHARS} characters.")
            row = ScriptRow(
                uri=url,
                file=script.file,
                is_shared=has_content_hash(url),
                bundle_id=script.bundle_id,
                map_id=script.map_id,
                debug_id=script.debug_id,
            )
            kept = rows.setdefault(url, row)
            if row.map_id is not None and row.map_id != kept.map_id:
                raise UploadError(
                    "url_prefix", f"there are two different files {script.file}; upload one of them again."
                )
        if rows:
            write_scripts(project_id, release, list(rows.values()))
        delete_scripts(project_id, _list_unseen(project_id, release, list(rows)))
        if rows:
            record(Act.SOURCE_MAPS_MOVED, project=project_id, release=release, scripts=len(rows))
    notify_worker(SYMBOLICATE_TASK, SYMBOLICATE_FLAG)
    return len(rows)


def _list_unseen(project_id: int, release: str, kept: list[str]) -> list[int]:
    """Returns the ids of a release's scripts that no func names, except those of some URIs."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""SELECT s.id FROM aggregate_releasescript s
               WHERE s.project_id = %(project_id)s AND s.release = %(release)s AND NOT s.uri = ANY(%(kept)b::text[])
                 AND NOT EXISTS (SELECT FROM aggregate_func f
                   WHERE f.project_id = %(project_id)s AND md5(f.uri) = md5(s.uri) AND f.uri = s.uri)
                 AND NOT ({HAS_WILDCARD} AND EXISTS (SELECT FROM aggregate_func f
                   WHERE f.project_id = %(project_id)s AND {COVERS}))
               ORDER BY s.id""",
            {"project_id": project_id, "release": release, "kept": kept},
        )
        return [script_id for (script_id,) in cursor]
