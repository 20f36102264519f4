"""Old looks at verdicts are deleted, and so are the oldest ones of a project that has very many."""

from datetime import datetime
from typing import Final

from django.db import connection

# Of one project. A release is looked at some 20 times, and a person may ask about each page and device class.
MAX_LOOKS_KEPT: Final = 20_000


def delete_old_looks(project_id: int, before: datetime, *, most: int = MAX_LOOKS_KEPT) -> int:
    """Deletes a project's looks from before a time, and the oldest ones beyond `most`. Returns how many."""
    with connection.cursor() as cursor:
        cursor.execute(
            """DELETE FROM aggregate_verdictlook l USING (
                   SELECT question, number, looked_at, row_number() OVER (ORDER BY looked_at DESC, number DESC) AS place
                   FROM aggregate_verdictlook WHERE project_id = %(project_id)s) AS o
               WHERE l.project_id = %(project_id)s AND l.question = o.question AND l.number = o.number
                 AND (o.looked_at < %(before)s OR o.place > %(most)s)""",
            {"project_id": project_id, "before": before, "most": most},
        )
        return int(cursor.rowcount)
