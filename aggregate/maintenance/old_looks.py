"""Old looks at verdicts are deleted, and so are the oldest ones of a project that has very many."""

from datetime import datetime
from typing import Final

from django.db import connection

# Of one project. A release is looked at some 20 times, and a person may ask about each page and device class.
MAX_LOOKS_KEPT: Final = 20_000


def delete_old_looks(project_id: int, before: datetime, *, most: int = MAX_LOOKS_KEPT) -> int:
    """Deletes the looks at questions that were last asked before a time, and at the oldest ones beyond `most` looks.

    A question loses all of its looks or keeps all: without the early ones, later ones would have more to spend. Returns
    how many.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """DELETE FROM aggregate_verdictlook l USING (
                   SELECT question, asked_at, sum(looks) OVER (ORDER BY asked_at DESC, question) AS looks FROM (
                       SELECT question, max(looked_at) AS asked_at, count(*) AS looks FROM aggregate_verdictlook
                       WHERE project_id = %(project_id)s GROUP BY 1) AS q) AS o
               WHERE l.project_id = %(project_id)s AND l.question = o.question
                 AND (o.asked_at < %(before)s OR o.looks > %(most)s)""",
            {"project_id": project_id, "before": before, "most": most},
        )
        return int(cursor.rowcount)
