"""The WSGI application granian serves."""

import os
from collections.abc import Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

_django = get_wsgi_application()


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:  # Any: the server's own types
    """Serves a request as UTF-8, whatever charset its `Content-Type` names.

    Django decodes the query by that charset while it makes the request, before any code of ours, and fails for codecs
    such as `hex` and `undefined`: anybody could fill the log with tracebacks.
    """
    content_type = environ.get("CONTENT_TYPE", "")
    if "charset" in content_type.lower():
        parts = content_type.split(";")
        environ["CONTENT_TYPE"] = ";".join(p for p in parts if not p.strip().lower().startswith("charset"))
    return _django(environ, start_response)
