"""This server's own address: as a request names it, and taken off the addresses of its pages."""

from django.conf import settings
from django.http import HttpRequest
from django.urls import Resolver404, ResolverMatch, get_script_prefix, resolve


def server_url(request: HttpRequest) -> str:
    """Returns the address below which this server answers, without a slash at its end."""
    return request.build_absolute_uri(f"{settings.URL_PATH}/").rstrip("/")


def server_origin(request: HttpRequest) -> str:
    """Returns this server's origin, which the policies of pages name: a path there would allow only itself."""
    return request.build_absolute_uri("/").rstrip("/")


def resolve_address(path: str) -> ResolverMatch:
    """Resolves the path of an address as browsers have it, with this server's own path. Raises `Resolver404`."""
    prefix = get_script_prefix()
    if not path.startswith(prefix):
        raise Resolver404({"path": path})
    return resolve(f"/{path.removeprefix(prefix)}")
