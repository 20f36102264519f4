"""The Celery task for jobs: both the wake-up and the sweep."""

from celery import shared_task

from dashboard.api.jobs import preparation


@shared_task(name="dashboard.run_jobs", ignore_result=True)
def run_jobs() -> None:
    """Runs jobs until none is left that may run now. After a database error, the next sweep continues."""
    preparation.run_jobs()
