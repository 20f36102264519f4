"""A worker whose jobs wait for the lock `GATE` of the database: `celery --app tests.fault_injection.slow_jobs
worker`.
"""

from typing import Final

import django

django.setup()

from django.db import connection, transaction  # noqa: E402

from aggregate.jobs.runs import JobResult, JobRun  # noqa: E402
from config.celery import app  # noqa: E402
from dashboard.api.jobs import preparation  # noqa: E402

__all__ = ("GATE", "app")

GATE: Final = 0x6A6F_6267  # "jobg"


def wait_for_gate(run: JobRun) -> JobResult:
    run.expect(1)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [GATE])
    return JobResult("text/plain", "gate.txt", [b"open"])


preparation.answer_job = wait_for_gate
