"""The WSGI application that granian serves."""

import os
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

_django = get_wsgi_application()
if not settings.IS_SECRET_KEPT:
    raise ImproperlyConfigured(
        "The web server needs a secret that all its processes share: set FIELDFLAME_SECRET_KEY, "
        "or FIELDFLAME_DATA to a data folder with a secret_key file, as `./run` makes one."
    )


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:  # Any: the server's own types
    """Serves a request as UTF-8, whatever charset its `Content-Type` names.

    Django decodes the query with that charset before any code of ours runs, and fails for codecs such as `hex` and
    `undefined`. Then anybody could fill the log with tracebacks.
    """
    content_type = environ.get("CONTENT_TYPE", "")
    if "charset" in content_type.lower():
        parts = content_type.split(";")
        environ["CONTENT_TYPE"] = ";".join(p for p in parts if not p.strip().lower().startswith("charset"))
    return _django(environ, start_response)
