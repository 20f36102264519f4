"""What a web process loads before its first answer, so that the first is as quick as the third.

Django loads addresses, views and templates when the first request needs them. That took 1.3 s of processor time, in
each web process for itself.
"""

import gc
import os
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

import django
from django.conf import settings
from django.template import engines
from django.template.loader import get_template
from django.urls import Resolver404, get_resolver, resolve, reverse
from django.utils.module_loading import import_string

# Called once, without arguments: results that a process keeps, and that its first pages would wait for.
KEPT: Final = (
    "dashboard.web.etags.fingerprint_server",
    "ingest.storage.view_dimensions.load_parser",
    "profcore.code.parties.by_domain",
    "profcore.code.sites.suffixes",
)
NO_PAGE: Final = "/projects/-/-/-/-"  # below an address that exists, so that it is compared with all addresses


@cache
def warm_up() -> None:
    """Loads addresses with their views, all templates of pages, and `KEPT`. Opens no connection, starts no thread.

    The garbage collector then leaves alone what is loaded: a collection took 0.1 s, and a third of that was code.
    """
    import_module(settings.ROOT_URLCONF)
    assert get_resolver().url_patterns
    reverse("healthz")  # fills the table of names
    with suppress(Resolver404):
        resolve(NO_PAGE)  # compiles the patterns of all addresses
    for name in list_templates():
        get_template(name)
    for path in KEPT:
        import_string(path)()
    gc.collect()
    gc.freeze()


def list_templates() -> list[str]:
    """Returns the names of our own templates."""
    folders = [Path(folder) for engine in engines.all() for folder in engine.template_dirs]
    ours = [folder for folder in folders if folder.is_relative_to(settings.BASE_DIR / "dashboard")]
    return sorted(str(path.relative_to(folder)) for folder in ours for path in folder.rglob("*.html"))


def load_all() -> None:
    """Loads Django with our apps, the middleware, all tasks, and what a web process loads before it listens.

    It also does what worker and beat do first: done in each of them, it would copy what they share.
    """
    os.environ["CELERY_SKIP_CHECKS"] = "true"
    django.setup()
    for name in settings.MIDDLEWARE:
        import_string(name)
    app = import_module("config.celery").app
    app.loader.init_worker()
    app.finalize()
    warm_up()
