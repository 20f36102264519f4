"""Asks the methods of the service in JSON, as a client of the Connect protocol does."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from django.test import Client

from profcore.times import HOUR
from tests.builders import MONDAY

SERVICE: Final = "/api/v1/projects/shop/querier.v1.QuerierService/"
Json = dict[str, Any]  # answers, as JSON


def ask(client: Client, headers: Mapping[str, str], method: str, status: int = 200, /, **message: Any) -> Json:
    """Returns the answer to a message in JSON."""
    response = client.post(SERVICE + method, message, content_type="application/json", headers=headers)
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/json"
    answer: Json = response.json()
    return answer


def type_id(sample_type: str) -> str:
    return f"browser:{sample_type}:nanoseconds:wall:nanoseconds"


def epoch_ms(at: datetime) -> int:
    return int(at.timestamp() * 1000)


def question(selector: str = "{}", *, kind: str = "script", hours: float = 1, **more: Any) -> Json:
    """Returns a question about some hours from Monday on."""
    end = epoch_ms(MONDAY + hours * HOUR)
    return {"profileTypeID": type_id(kind), "labelSelector": selector, "start": epoch_ms(MONDAY), "end": end, **more}


def labels_of(pairs: list[dict[str, str]]) -> dict[str, str]:
    return {pair["name"]: pair["value"] for pair in pairs}
