"""Celery's entry for jobs: a wake-up and the sweep in one."""

from celery import shared_task

from dashboard import preparing


@shared_task(name="dashboard.run_jobs", ignore_result=True)
def run_jobs() -> None:
    """Runs jobs until none waits that may run now. Faults of the database leave a job to the next sweep."""
    preparing.run_jobs()
