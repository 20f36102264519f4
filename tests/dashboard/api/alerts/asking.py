"""Requests to the endpoints of alerts and channels, with a token that may change them."""

import json
from dataclasses import dataclass
from typing import Any, Final

from django.test import Client

from projects.models import Project
from projects.tokens import create_token

API: Final = "/api/v1/projects/shop/"
BUDGET: Final[dict[str, Any]] = {
    "kind": "budget",
    "name": "Cart",
    "question": {"measure": "time", "limit": 200, "page": "/cart"},
}
WEBHOOK: Final[dict[str, Any]] = {
    "kind": "webhook",
    "name": "Team",
    "addresses": ["https://hooks.example/in/9f8e7d?key=very-secret"],
}


@dataclass(frozen=True)
class Asker:
    """Somebody with a token, or with a session if there are no headers."""

    client: Client
    headers: dict[str, str]

    def ask(self, method: str, address: str, body: Any = None) -> Any:  # Any: JSON, and the client's own responses
        """Returns the answer to a request about the shop."""
        text = "" if body is None else json.dumps(body)
        return self.client.generic(method, API + address, text, content_type="application/json", headers=self.headers)


def ask_with(project: Project, *scopes: str) -> Asker:
    """Returns somebody with a token of these scopes."""
    _, clear = create_token(project=project, scopes=scopes, name="as code")
    return Asker(Client(), {"Authorization": f"Bearer {clear}"})
