"""Request bodies with `{"params": {…}}`: the same parameters as in a query string, and further fields."""

import json
from collections.abc import Set as AbstractSet
from typing import Any, Final

from django.http import QueryDict
from rest_framework.request import Request

from dashboard.api.jobs.preparation import make_params
from dashboard.web.params import ParamError, is_text

MAX_REQUEST_BYTES: Final = 64 * 1024  # longer than any address that servers accept
PARAMS_HELP: Final = "As in a query string: a text or a number; a list if a parameter is repeated."


def read_body_params(
    request: Request, others: AbstractSet[str], *, first: str = "params"
) -> tuple[dict[str, Any], QueryDict]:  # Any: JSON
    """Returns a JSON body, and its `params` as (name, value) pairs. The body may also have the fields in `others`.

    Raises `ParamError`; it names `first` if the body is not such an object.
    """
    body = request.read(MAX_REQUEST_BYTES + 1)
    if len(body) > MAX_REQUEST_BYTES:
        raise ParamError("params", f"The body is larger than {MAX_REQUEST_BYTES} bytes.")
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        example = ", ".join(f'"{name}": …' for name in sorted(others))
        raise ParamError(first, f'The body must be JSON: {{"params": {{…}}, {example}}}.')
    if unknown := fields.keys() - others - {"params"}:
        raise ParamError(min(unknown)[:80], f"Known are {', '.join(sorted(others | {'params'}))}.")
    params = fields.get("params", {})
    if not isinstance(params, dict):
        raise ParamError("params", "params must be an object of the query's parameters.")
    return fields, make_params([pair for name, value in params.items() for pair in read_pairs(name, value)])


def read_pairs(name: str, value: Any) -> list[tuple[str, str]]:  # Any: JSON
    """Returns a parameter's values as a query string would give them. Raises `ParamError`."""
    pairs = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            raise ParamError(name[:80], f"{name[:80]} must be a text or a number, or a list of such.")
        text = item if isinstance(item, str) else repr(item)
        if not is_text([name, text]):
            raise ParamError("params", "params contain a lone surrogate, which is not valid text.")
        pairs.append((name, text))
    return pairs
