"""Loading all code at once, for a process whose forks share it."""

from importlib import import_module

import django
from django.conf import settings
from django.utils.module_loading import import_string

from ops.preload import warm_up


def load_all() -> None:
    """Loads Django with our apps, the middleware, all tasks, and what a web process loads before it listens."""
    django.setup()
    for name in settings.MIDDLEWARE:
        import_string(name)
    warm_up()
    import_module("config.celery").app.loader.import_default_modules()
