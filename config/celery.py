"""The Celery application: notifications and the sweep. No results are kept; Postgres shows what was done."""

import os
from pathlib import Path

from celery import Celery
from celery.fixups import django
from celery.signals import task_postrun, worker_ready
from django.db import connections
from kombu.transport import redis, virtual

from ops.malloc_trim import Trimmer
from ops.supervisor.services import READY_FILE_NAME
from ops.telemetry import serving as _serves_metrics  # noqa: F401
from ops.telemetry import tasks as _measures_tasks  # noqa: F401

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")


class ForgetfulQoS(redis.QoS):
    """Counts the messages that a worker has taken, so that it takes no more than it may at a time.

    If Valkey does not hear of an acknowledgement, Celery logs that and goes on. But kombu's own class counts the
    message for ever: such a worker takes nothing any more, and still answers that it listens. It happens when Valkey
    is away for some seconds. This one forgets the message. Notifications have no data, so nothing is lost.
    """

    def ack(self, delivery_tag: str) -> None:
        """Acknowledges a message. Raises redis's errors, after it has forgotten the message."""
        try:
            super().ack(delivery_tag)
        except Exception:
            virtual.QoS.ack(self, delivery_tag)
            raise


class PooledFixup(django.DjangoWorkerFixup):  # type: ignore[name-defined, misc]  # the stubs do not know it
    """Keeps a process's connections to PostgreSQL between tasks, in their pool, which checks each before it is used.

    Celery's own closes the pool before and after each task. To connect again costs a worker and PostgreSQL as much as
    folding ten traces, and a server process that has just begun is slow.
    """

    def on_task_prerun(self, **_: object) -> None:
        """Closes nothing: the task before has released its connections."""

    def on_task_postrun(self, **_: object) -> None:
        """Releases the connections of a task."""
        connections.close_all()


redis.Channel.QoS = ForgetfulQoS
django.DjangoWorkerFixup = PooledFixup  # type: ignore[attr-defined]  # as above
app = Celery("fieldflame")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["aggregate", "alerts", "dashboard", "ingest"])


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
