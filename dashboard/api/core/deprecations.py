"""What of the read API goes away, since when, until when, and what to use instead: told in headers and in the document.

`Deprecation` is RFC 9745, `Sunset` RFC 8594, `successor-version` RFC 5829. Common clients log them.
"""

import logging
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any, Final

from django.utils.http import http_date

logger = logging.getLogger(__name__)

# Days between the release that deprecates something and the day from which it may be gone. Clients change twice a year.
LEAST_NOTICE_DAYS: Final = 180
DOCUMENT: Final = "/api/v1/docs"
PROJECT_ROUTE: Final = "api/v1/projects/<slug:slug>/"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiDeprecation:
    """A deprecated address, or one of its parameters. `address` is what follows the project, as `functions/{func_id}`.

    `successor` is the address to use instead, in the same form; None if there is none.
    """

    address: str
    parameter: str | None = None
    deprecated_on: date
    sunset_on: date
    instead: str
    successor: str | None = None


# Each entry stays until a release removes what it names. docs/api.md lists them, under "Deprecated".
DEPRECATIONS: tuple[ApiDeprecation, ...] = ()

_told: Final[set[tuple[int, str, str | None]]] = set()


def find_deprecations(route: str, parameters: Collection[str]) -> list[ApiDeprecation]:
    """Returns what a request to this route of Django uses of the deprecated, the first to go first."""
    address = address_of(route)
    found = [
        each
        for each in DEPRECATIONS
        if each.address == address and (each.parameter is None or each.parameter in parameters)
    ]
    return sorted(found, key=lambda each: each.sunset_on)


def address_of(route: str) -> str:
    """Returns a route without its project, with parameters in braces."""
    return re.sub(r"<\w+:(\w+)>", r"{\1}", route.removeprefix(PROJECT_ROUTE))


def write_headers(found: Sequence[ApiDeprecation], slug: str) -> dict[str, str]:
    """Returns the headers of an answer; none if nothing is deprecated. Of several, the earliest dates count."""
    if not found:
        return {}
    links = [f'<{DOCUMENT}>; rel="deprecation"; type="text/html"', f'<{DOCUMENT}>; rel="sunset"; type="text/html"']
    links += [
        f'</api/v1/projects/{slug}/{each.successor}>; rel="successor-version"'
        for each in found
        if each.successor is not None and "{" not in each.successor
    ]
    return {
        "Deprecation": f"@{int(_midnight(min(each.deprecated_on for each in found)).timestamp())}",
        "Sunset": http_date(_midnight(found[0].sunset_on).timestamp()),
        "Link": ", ".join(links),
    }


def tell_once(found: Sequence[ApiDeprecation], project_id: int) -> None:
    """Logs that a project still uses something, once in each process."""
    for each in found:
        key = (project_id, each.address, each.parameter)
        if key not in _told:
            _told.add(key)
            what = f"{each.address}?{each.parameter}=" if each.parameter else each.address
            logger.warning("Project %s uses %s, which may be gone from %s on.", project_id, what, each.sunset_on)


def mark_deprecated(result: dict[str, Any], **_: object) -> dict[str, Any]:  # Any: the document as spectacular makes it
    """Marks operations and parameters in the OpenAPI document, and says what to use instead."""
    for each in DEPRECATIONS:
        for operation in result["paths"].get(f"/api/v1/projects/{{slug}}/{each.address}", {}).values():
            marked = operation
            if each.parameter is not None:
                named = [found for found in operation.get("parameters", ()) if found["name"] == each.parameter]
                if not named:
                    continue
                marked = named[0]
            marked["deprecated"] = True
            notice = f"Deprecated; may be gone from {each.sunset_on} on. {each.instead}"
            marked["description"] = f"{marked.get('description', '')}\n\n{notice}".strip()
    return result


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
