"""What decides a page about a project, in short: equal fingerprints of two moments mean equal pages."""

from typing import Final

from django.db import connection

from aggregate.selectors.categories import select_sites

# Sums change with every trace that is folded, refused, set aside or erased and with every cell that expires. A refold
# may book the same sums to other functions: its run tells. The lowest cell of which views are kept tells that views
# expired, the partitions that raw bodies did. Labels change with their scripts.
STATE: Final = """
SELECT to_jsonb(p)::text,
       (SELECT concat_ws(',', count(*), min(r.received_at), max(r.received_at)) FROM ingest_receipt r
        WHERE r.project_id = p.id AND r.state = 0),
       (SELECT concat_ws(',', sum(k.folded), sum(k.rejected), count(*), max(k.last_received_at))
        FROM ingest_receiptcount k WHERE k.project_id = p.id),
       (SELECT concat_ws(',', sum(f.count), count(*), max(f.hour_at)) FROM ingest_refusal f WHERE f.project_id = p.id),
       (SELECT concat_ws(',', count(*), sum(d.views), sum(d.truncated_views), sum(d.traces), sum(d.js_us),
                         sum(d.hidden_us), sum(d.idle_us), sum(d.unobserved_us), sum(d.span_us), sum(d.js_samples))
        FROM aggregate_pageday d WHERE d.project_id = p.id),
       (SELECT concat_ws(',', count(*), sum(f.cells), max(f.finished_at)) FROM aggregate_refoldrun f
        WHERE f.project_id = p.id),
       (SELECT min(v.cell_id) FROM aggregate_view v WHERE v.project_id = p.id),
       (SELECT count(*) FROM ingest_group g WHERE g.project_id = p.id),
       (SELECT concat_ws(',', count(*), bit_xor(hashtextextended(concat_ws(' ', s.id, s.map_id, s.bundle_id, s.attempts,
                         s.labelled_func_id, s.pending_at, s.uploaded_at, s.failure), 0)))
        FROM aggregate_releasescript s WHERE s.project_id = p.id),
       (SELECT jsonb_agg(k ORDER BY k.id)::text FROM ingest_ingestkey k WHERE k.project_id = p.id),
       (SELECT string_agg(i.inhrelid::text, ',' ORDER BY i.inhrelid) FROM pg_inherits i
        WHERE i.inhparent = 'ingest_rawtrace'::regclass),
       (SELECT string_agg(m.user_id || m.role, ',' ORDER BY m.user_id) FROM ingest_membership m
        WHERE m.project_id = p.id)
FROM ingest_project p WHERE p.id = %s
"""


def fingerprint_project(project_id: int) -> str:
    """Returns what changes with whatever any page shows of a project's data and settings. Two statements.

    Cheap beside a page: it reads the roll-up and counts, no cells. It may stay as it is where views expire out of order
    (of traces that came weeks late), and where a project keeps raw bodies for a shorter time than the server does.
    """
    with connection.cursor() as cursor:
        cursor.execute(STATE, [project_id])
        state = cursor.fetchone()
    return f"{state} {sorted(select_sites(project_id))}"
