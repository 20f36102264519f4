"""The Celery application: wake-ups and the sweep. No results are kept; Postgres shows what was done."""

import os
from pathlib import Path

from celery import Celery
from celery.signals import task_postrun, worker_ready

from config.telemetry import serving as _serves_metrics  # noqa: F401
from config.telemetry import tasks as _measures_tasks  # noqa: F401
from config.trimming import Trimmer
from config.up.parts import READY_FILE_NAME

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("fieldflame")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["aggregate", "ingest", "dashboard"])


@worker_ready.connect
def tell_ready(**_: object) -> None:
    """Makes the file by which `./run` learns that the worker listens."""
    if path := os.environ.get(READY_FILE_NAME):
        Path(path).touch()


_trimmer = Trimmer()


@task_postrun.connect
def trim(**_: object) -> None:
    """Gives back what a fold or a job has freed."""
    _trimmer.trim_after_work()
