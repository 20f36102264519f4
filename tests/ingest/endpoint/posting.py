"""Posting to the endpoint as a browser does, through the whole chain of middleware."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db import connection
from django.test import Client

ENDPOINT = "/ingest/v1/traces"


@dataclass(frozen=True, slots=True)
class IngestResponse:
    """The answer of the endpoint."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def json(self) -> Any:  # Any: JSON
        return json.loads(self.content)

    @property
    def reason(self) -> str:
        return str(self.json["reason"])


@dataclass(frozen=True, slots=True)
class IngestServer:
    """A project's endpoint. Exceptions of the view are not turned into a 500: they fail the test."""

    project_id: int
    key: str

    def post(
        self, body: object, *, content_type: str = "application/json", key: str | None = None, **headers: str
    ) -> IngestResponse:
        """Posts bytes as they are and anything else as JSON; `content_encoding="gzip"` is a header."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", sent, content_type=content_type, key=key, **headers)

    def ask(
        self,
        method: str,
        sent: bytes = b"",
        *,
        content_type: str = "application/json",
        key: str | None = None,
        address: str | None = None,
        **headers: str,
    ) -> IngestResponse:
        """Asks our own address with the key, or another one."""
        response = Client().generic(
            method,
            address or f"{ENDPOINT}?{urlencode({'key': self.key if key is None else key})}",
            sent,
            content_type,
            headers={name.replace("_", "-"): value for name, value in headers.items()},
        )
        return IngestResponse(response.status_code, response.headers, response.content)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Returns the rows of a query; `%(project)s` is the project's id."""
        with connection.cursor() as cursor:
            cursor.execute(sql, {"project": self.project_id})
            return list(cursor.fetchall())

    def receipts(self, columns: str = "view_id::text, seq") -> list[tuple[Any, ...]]:
        return self.rows(
            f"SELECT {columns} FROM ingest_tracereceipt WHERE project_id = %(project)s ORDER BY view_id, seq"
        )

    def bodies(self) -> list[bytes]:
        """Returns the stored bodies, expanded, in order of view and sequence number."""
        stored = self.rows(
            "SELECT is_gzip, body FROM ingest_rawtrace WHERE project_id = %(project)s ORDER BY view_id, seq"
        )
        return [gzip.decompress(body) if is_gzip else bytes(body) for is_gzip, body in stored]

    def refusals(self) -> dict[str, int]:
        """Returns the counts of refusals by reason."""
        return dict(
            self.rows(
                "SELECT reason, sum(count)::int FROM ingest_refusal WHERE project_id = %(project)s GROUP BY reason"
            )
        )

    def pages(self) -> list[str]:
        return [
            page for (page,) in self.rows("SELECT page FROM ingest_group WHERE project_id = %(project)s ORDER BY page")
        ]


def ndjson(*envelopes: object) -> bytes:
    """Returns the envelopes, one per line."""
    return b"\n".join(json.dumps(envelope).encode() for envelope in envelopes)
