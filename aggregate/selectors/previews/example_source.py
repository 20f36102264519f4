"""An example of a project's own original sources, to show what links to sources would look like."""

from typing import NamedTuple

from django.db import connection

from aggregate.label_models import MAPPED
from profcore.code.packages import canonical_source

# Newest labels first. If all code of a project is in packages, all its labels are read, and there is no example.
NEWEST_OWN = f"""
SELECT l.release, s.path, l.line, l.col
FROM aggregate_label l JOIN aggregate_source s ON s.project_id = l.project_id AND s.id = l.source_id
WHERE l.project_id = %s AND l.status = {MAPPED} AND s.path NOT LIKE '%%node_modules/%%'
ORDER BY l.func_id DESC, l.release DESC LIMIT 1
"""


class ExampleSource(NamedTuple):
    """Where a function of a project is defined, in its original; `line` and `column` are 1-based."""

    release: str
    path: str
    line: int
    column: int


def select_example_source(project_id: int) -> ExampleSource | None:
    """Returns the place of the newest mapped function of the project's own code, None if there is none."""
    with connection.cursor() as cursor:
        cursor.execute(NEWEST_OWN, [project_id])
        row = cursor.fetchone()
    return ExampleSource(row[0], canonical_source(row[1]), row[2], row[3]) if row else None
