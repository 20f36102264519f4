"""Posting to this process's own database, without a server."""

import json

from django.test import RequestFactory

from ingest.endpoint.requests import read_request
from ingest.endpoint.views import take_traces


def post_here(public_key: str, body: bytes) -> None:
    """Posts gzipped envelopes, as a browser does. Raises `RuntimeError` if any of them was not accepted."""
    request = RequestFactory().post(
        f"/ingest/v1/traces?key={public_key}",
        body,
        content_type="application/json",
        headers={"Content-Encoding": "gzip"},
    )
    answer = take_traces(read_request(request.META))
    if answer.status != 202 or json.loads(answer.content)["rejected"]:
        raise RuntimeError(f"a post was answered {answer.status}: {answer.content[:200]!r}")
