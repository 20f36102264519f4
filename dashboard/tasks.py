"""The Celery tasks of the dashboard: jobs, and sessions that have expired."""

from importlib import import_module

from celery import shared_task
from django.conf import settings

from dashboard.api.jobs import preparation


@shared_task(name="dashboard.run_jobs", ignore_result=True)
def run_jobs() -> None:
    """Runs a job; the next one has its turn behind the tasks that wait. After a database error, the sweep continues."""
    preparation.run_job()


@shared_task(name="dashboard.clear_sessions", ignore_result=True)
def clear_sessions() -> None:
    """Deletes sessions that have expired: nothing else does, and each login leaves a row."""
    import_module(settings.SESSION_ENGINE).SessionStore.clear_expired()
