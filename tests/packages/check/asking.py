"""The server's code answers the command's requests, in this process."""

import httpx
from django.test import Client


def answer(request: httpx.Request) -> httpx.Response:
    """Answers a request by the server's code, in this process."""
    headers = {name: value for name, value in request.headers.items() if name != "content-length"}
    kind = headers.pop("content-type", "")
    address = request.url.raw_path.decode()
    response = Client().generic(request.method, address, request.content, content_type=kind, headers=headers)
    return httpx.Response(response.status_code, headers=dict(response.headers), content=response.content)
