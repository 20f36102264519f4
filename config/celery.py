"""The Celery application: wake-ups and the sweep. No results are kept; Postgres shows what was done."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

app = Celery("fieldflame")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["aggregate", "ingest", "dashboard"])
