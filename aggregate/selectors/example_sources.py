"""One original source of a project's own, to show what its link would be."""

from typing import NamedTuple

from django.db import connection

from profcore.packages import canonical_source

# Newest labels first. A project whose code is all of packages is looked through once, and has none.
NEWEST_OWN = """
SELECT l.release, s.path, l.line, l.col
FROM aggregate_label l JOIN aggregate_source s ON s.project_id = l.project_id AND s.id = l.source_id
WHERE l.project_id = %s AND l.status = 0 AND s.path NOT LIKE '%%node_modules/%%'
ORDER BY l.func_id DESC, l.release DESC LIMIT 1
"""


class ExampleSource(NamedTuple):
    """Where a function of a project is defined, in its original; `line` and `column` are 1-based."""

    release: str
    path: str
    line: int
    column: int


def select_example_source(project_id: int) -> ExampleSource | None:
    """Returns where the newest mapped function of the project's own code is from; None without source maps."""
    with connection.cursor() as cursor:
        cursor.execute(NEWEST_OWN, [project_id])
        row = cursor.fetchone()
    return ExampleSource(row[0], canonical_source(row[1]), row[2], row[3]) if row else None
