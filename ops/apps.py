"""The app of the settings: with it, Celery's application is there before anything sends a task."""

from importlib import import_module

from django.apps import AppConfig


class OpsConfig(AppConfig):
    """Settings, the Celery application and the supervisor."""

    name = "ops"

    def ready(self) -> None:
        import_module("config.celery")
