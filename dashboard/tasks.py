"""The Celery task for jobs: both the wake-up and the sweep."""

from celery import shared_task

from dashboard.api.jobs import preparation


@shared_task(name="dashboard.run_jobs", ignore_result=True)
def run_jobs() -> None:
    """Runs a job; the next one has its turn behind the tasks that wait. After a database error, the sweep continues."""
    preparation.run_job()
