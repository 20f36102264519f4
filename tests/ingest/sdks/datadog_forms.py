"""What Datadog's browser SDK posts, as Chromium writes it."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from tests.ingest.endpoint.posting import IngestResponse, IngestServer
from tests.profcore.formats.importers.reading import sample_json

Json = dict[str, Any]  # Any: JSON
SHOP = "https://shop.example"
BOUNDARY = "----WebKitFormBoundaryaBcDeFgH12345678"
FORM = f"multipart/form-data; boundary={BOUNDARY}"
PROFILE = "/api/v2/profile"
QUOTA = "/api/v2/profiling/quota"


def make_form(parts: Mapping[str, bytes], *, is_file: bool = True) -> bytes:
    """Returns a form as Chromium writes it."""
    lines = b""
    for name, content in parts.items():
        file_name = f'; filename="{name}"' if is_file else ""
        head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"{file_name}\r\n\r\n'
        lines += head.encode() + content + b"\r\n"
    return lines + f"--{BOUNDARY}--\r\n".encode()


def make_parts(profile: Json | None = None) -> dict[str, bytes]:
    profile = profile or sample_json("datadog.json")
    return {name: json.dumps(profile[name]).encode() for name in ("event", "wall-time.json")}


def send(
    endpoint: IngestServer,
    body: bytes,
    path: str = PROFILE,
    *,
    forward: str = "",
    content_type: str = FORM,
    origin: str = SHOP,
) -> IngestResponse:
    """Posts as the SDK does; with `forward` as it does where `proxy` is a text."""
    query = urlencode({"ddforward": forward} if forward else {"ddsource": "browser", "dd-api-key": "pub"})
    address = f"/datadog/{endpoint.key}{path}?{query}"
    return endpoint.ask("POST", body, content_type=content_type, address=address, origin=origin)
