"""Fingerprints of a project's data: if they are equal at two moments, its pages are equal too."""

from typing import Final

from django.db import connection
from django.db.models import QuerySet, TextField
from django.db.models.expressions import RawSQL

from aggregate.selectors.code.sites import select_sites
from ingest.models import PENDING
from projects.models import Project

# Sums change with every trace that is folded, rejected, refused or erased, and with every cell that expires. A refold
# may give the same sums to other functions, so its run counts too. The lowest cell with kept views changes when views
# expire, and the list of partitions when raw bodies do. Labels change with their scripts. Counts of absences change on
# their own day only, and expire by days. Each load has vital 0. What is announced about a release again has a new time.
# States of alerts have a history, and what was found of the open ones changes with each look.
STATE: Final = f"""
SELECT to_jsonb(p)::text,
       (SELECT concat_ws(',', count(*), min(r.received_at), max(r.received_at)) FROM ingest_tracereceipt r
        WHERE r.project_id = %(project_id)s AND r.state = {PENDING}),
       (SELECT concat_ws(',', sum(k.folded), sum(k.rejected), count(*), max(k.last_received_at))
        FROM ingest_receiptcount k WHERE k.project_id = %(project_id)s),
       (SELECT concat_ws(',', sum(f.count), count(*), max(f.hour_at)) FROM ingest_refusal f
        WHERE f.project_id = %(project_id)s),
       (SELECT concat_ws(',', sum(a.reports), max(a.day_on)) FROM ingest_absentcount a
        WHERE a.project_id = %(project_id)s AND a.day_on >= (now() AT TIME ZONE 'UTC')::date - 1),
       (SELECT concat_ws(',', sum(l.loads), min(l.day_on)) FROM ingest_loadcount l
        WHERE l.project_id = %(project_id)s AND l.vital = 0),
       (SELECT min(a.day_on) FROM ingest_absentcount a WHERE a.project_id = %(project_id)s),
       (SELECT concat_ws(',', sum(h.reports), count(h.originals), max(h.last_at), min(h.day_on)) FROM ingest_hangcount h
        WHERE h.project_id = %(project_id)s),
       (SELECT concat_ws(',', count(*), sum(d.views), sum(d.truncated_views), sum(d.traces), sum(d.js_us),
                         sum(d.hidden_us), sum(d.engine_us), sum(d.idle_us), sum(d.unobserved_us), sum(d.span_us),
                         sum(d.js_samples))
        FROM aggregate_pageday d WHERE d.project_id = %(project_id)s),
       (SELECT concat_ws(',', count(*), sum(f.cells + f.kept_cells), max(f.paused_at), max(f.finished_at))
        FROM aggregate_refoldrun f WHERE f.project_id = %(project_id)s),
       (SELECT min(v.cell_id) FROM aggregate_pageview v WHERE v.project_id = %(project_id)s),
       (SELECT count(*) FROM ingest_group g WHERE g.project_id = %(project_id)s),
       (SELECT concat_ws(',', count(*), max(n.announced_at)) FROM projects_announcedrelease n
        WHERE n.project_id = %(project_id)s),
       (SELECT concat_ws(',', count(*), bit_xor(hashtextextended(concat_ws(' ', s.id, s.map_id, s.bundle_id, s.attempts,
                         s.labelled_func_id, s.pending_at, s.uploaded_at, s.failure), 0)))
        FROM aggregate_releasescript s WHERE s.project_id = %(project_id)s),
       (SELECT concat_ws(',', max(h.id), min(h.id)) FROM alerts_statechange h WHERE h.project_id = %(project_id)s),
       (SELECT concat_ws(',', count(*), max(w.seen_at)) FROM alerts_alertstate w
        WHERE w.project_id = %(project_id)s AND w.state IN (2, 3)),
       (SELECT jsonb_agg(k ORDER BY k.id)::text FROM projects_ingestkey k WHERE k.project_id = %(project_id)s)
FROM projects_project p WHERE p.id = %(project_id)s
"""
# What is not where the project's rows are, if workers of Citus have these: the catalog, and who may log in. An
# expression of a project's row.
AROUND: Final = """
concat_ws(' ', (SELECT string_agg(i.inhrelid::text, ',' ORDER BY i.inhrelid) FROM pg_inherits i
                WHERE i.inhparent = 'ingest_rawtrace'::regclass),
               (SELECT string_agg(m.user_id || m.role, ',' ORDER BY m.user_id) FROM projects_membership m
                WHERE m.project_id = projects_project.id))
"""


def with_surroundings(projects: QuerySet[Project]) -> QuerySet[Project]:
    """Returns projects with `around`: what pages show besides a project's own rows, for `fingerprint_project`."""
    return projects.annotate(around=RawSQL(AROUND, (), output_field=TextField()))  # noqa: S611  # a constant


def fingerprint_project(project: Project) -> str:
    """Returns a text that changes with everything that pages show of a project's data and settings. Two statements.

    The project comes from `with_surroundings`.

    It costs little compared with a page: it reads the roll-up and counts, no cells. It may miss a change in two cases:
    views of traces that came weeks late expire out of order, and a project keeps raw bodies for a shorter time than the
    server does.
    """
    with connection.cursor() as cursor:
        cursor.execute(STATE, {"project_id": project.pk})
        state = cursor.fetchone()
    return f"{project.around} {state} {sorted(select_sites(project.pk))}"  # type: ignore[attr-defined]  # annotated
