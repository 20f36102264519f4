"""Starting jobs by the read API, and reading what it answers."""

from typing import Any

from django.http import StreamingHttpResponse
from django.test import Client

from tests.aggregate.posting import rows

API = "/api/v1/projects/site/"
JOBS = API + "jobs"


def start(client: Client, token: dict[str, str], kind: str, **params: Any) -> dict[str, Any]:
    response = client.post(JOBS, {"kind": kind, "params": params}, content_type="application/json", headers=token)
    assert response.status_code == 202, response.content
    job: dict[str, Any] = response.json()
    assert response["Location"] == job["url"] == f"{JOBS}/{job['id']}"
    return job


def body_of(response: Any) -> bytes:  # Any: the test client's answers have no public type of their own
    assert response.status_code == 200, response.content
    return response.getvalue() if isinstance(response, StreamingHttpResponse) else response.content


def func_id(name: str) -> int:
    return int(rows("SELECT id FROM aggregate_func WHERE name = %s", name)[0][0])
