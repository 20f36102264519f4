"""Bodies of requests that name a question: `{"params": {…}}` in the words of the query, and what goes with it."""

import json
from collections.abc import Set as AbstractSet
from typing import Any, Final

from django.http import QueryDict
from rest_framework.request import Request

from dashboard.params import ParamError
from dashboard.preparing import make_params

MAX_REQUEST_BYTES: Final = 64 * 1024  # the longest address that servers take is shorter
PARAMS_HELP: Final = "As in the query: a text, a number or true words; a list where a parameter is repeated."


def read_body_params(
    request: Request, others: AbstractSet[str], *, first: str = "params"
) -> tuple[dict[str, Any], QueryDict]:  # Any: JSON
    """Returns a JSON body, and its `params` as a query's; `others` may stand beside.

    Raises `ParamError`; of `first`, where the body is no such object at all.
    """
    body = request.read(MAX_REQUEST_BYTES + 1)
    if len(body) > MAX_REQUEST_BYTES:
        raise ParamError("params", f"The body is larger than {MAX_REQUEST_BYTES} bytes.")
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict):
        fields = ", ".join(f'"{name}": …' for name in sorted(others))
        raise ParamError(first, f'The body must be JSON: {{"params": {{…}}, {fields}}}.')
    if unknown := asked.keys() - others - {"params"}:
        raise ParamError(min(unknown)[:80], f"Known are {', '.join(sorted(others | {'params'}))}.")
    params = asked.get("params", {})
    if not isinstance(params, dict):
        raise ParamError("params", "params must be an object of the query's parameters.")
    return asked, make_params([pair for name, value in params.items() for pair in read_pairs(name, value)])


def read_pairs(name: str, value: Any) -> list[tuple[str, str]]:  # Any: JSON
    """Returns a parameter's values as a query string would have given them. Raises `ParamError`."""
    pairs = []
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, bool) or not isinstance(one, str | int | float):
            raise ParamError(name[:80], f"{name[:80]} must be a text or a number, or a list of such.")
        text = one if isinstance(one, str) else repr(one)
        if any("\ud800" <= character <= "\udfff" for character in name + text):
            raise ParamError("params", "params hold a lone surrogate, which is no text.")
        pairs.append((name, text))
    return pairs
