"""The path below which this server is reached (`FIELDFLAME_PATH`), as requests bring it."""

from typing import Any


def take_off_path(environ: dict[str, Any], url_path: str) -> None:
    """Takes this server's own path off a request's, unless a proxy, or somebody on this machine, has left it out.

    A proxy or a framework in between may double the first slash.
    """
    path = "/" + environ["PATH_INFO"].lstrip("/")
    if path == url_path or path.startswith(f"{url_path}/"):
        environ["PATH_INFO"] = path.removeprefix(url_path) or "/"
