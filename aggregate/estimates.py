"""How many rows the planner expects, on plain PostgreSQL and on Citus: counting would read all of them."""

import json
from collections.abc import Mapping
from typing import Any

from django.db import connection


def estimate_rows_of(table: str, project_id: int) -> int:
    """Returns about how many rows of a table name a project, by the planner's statistics. One statement."""
    with connection.cursor() as cursor:
        # EXPLAIN takes no parameters.
        cursor.execute(f"EXPLAIN (FORMAT JSON) SELECT FROM {table} WHERE project_id = {int(project_id)}")
        ((plan,),) = cursor.fetchall()
    return _rows_of((plan if isinstance(plan, list) else json.loads(plan))[0]["Plan"])


def _rows_of(plan: Mapping[str, Any]) -> int:  # Any: JSON
    """Returns the rows that a plan expects. That of Citus has the workers' plans inside, and no number of its own."""
    tasks = plan.get("Distributed Query", {}).get("Job", {}).get("Tasks", ())
    if tasks:
        return sum(int(remote["Plan"]["Plan Rows"]) for task in tasks for (remote,) in task["Remote Plan"])
    return int(plan["Plan Rows"])
