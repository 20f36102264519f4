"""What Sentry's browser SDK sends: envelopes as it writes them, with chunks, spans and transactions."""

import json
from typing import Any
from uuid import UUID

from django.db import connection

from ingest.joining import join_chunks
from tests.ingest.endpoint.posting import IngestResponse, IngestServer

Json = dict[str, Any]  # Any: JSON
SHOP = "https://shop.example"
PRODUCT = f"{SHOP}/product/4711?email=a@b.example"
START_S = 1_795_838_095.0  # when the tests' document began
PROFILER = "f16baff069784d7bb59d5597c33dece0"
FRAMES = [{"function": name, "abs_path": "https://shop.example/app.js", "lineno": 1, "colno": at} for at, name in
          enumerate(("main", "render", "price"), 1)]  # fmt: skip


def make_chunk(at_s: float = 1.0, count: int = 20, *, number: int = 1, **fields: object) -> Json:
    """Returns a chunk with a sample each 10 ms from a moment of the document's time on."""
    samples = [
        {"stack_id": at % 3, "thread_id": "0", "timestamp": round(START_S + at_s + at / 100, 4)} for at in range(count)
    ]
    return {
        "chunk_id": UUID(int=number).hex,
        "client_sdk": {"name": "sentry.javascript.browser", "version": "11.12.0"},
        "profiler_id": PROFILER,
        "platform": "javascript",
        "version": "2",
        "release": "shop@1",
        "environment": "production",
        "debug_meta": {"images": []},
        "profile": {
            "frames": FRAMES,
            "stacks": [[0], [1, 0], [2, 1, 0], []],
            "samples": samples,
            "thread_metadata": {"0": {"name": "main"}},
        },
        **fields,
    }


def make_attributes(values: Json) -> Json:
    return {name: {"value": value, "type": "string"} for name, value in values.items() if value is not None}


def make_segment(at_s: float = 0.0, url: str = PRODUCT, *, number: int = 1, own: Json | None = None) -> Json:
    """Returns the segment of a page load, or of a navigation if it begins later, as version 11 sends it.

    `own` are attributes that differ.
    """
    values = {
        "sentry.op": "navigation" if at_s else "pageload",
        "sentry.segment.name": "Navigation" if at_s else "Pageload",
        "sentry.segment.name.source": "url",
        "sentry.profiler_id": PROFILER,
        "url.full": url,
        "browser.navigation.type": None if at_s else "navigate",
        "device.memory.estimated_capacity": 8,
        "device.processor_count": 4,
    }
    return {
        "name": "Navigation" if at_s else "Pageload",
        "span_id": f"{number:016x}",
        "trace_id": "b" * 32,
        "start_timestamp": START_S + at_s,
        "end_timestamp": START_S + at_s + 1,
        "is_segment": True,
        "status": "ok",
        "attributes": make_attributes({**values, **(own or {})}),
    }


def make_child(op: str, start_s: float, end_s: float, *, of: int = 1, number: int = 100, name: str = "") -> Json:
    """Returns a child of a segment, in times of the document."""
    return {
        "name": name or op,
        "span_id": f"{number:016x}",
        "trace_id": "b" * 32,
        "parent_span_id": f"{of:016x}",
        "start_timestamp": START_S + start_s,
        "end_timestamp": START_S + end_s,
        "is_segment": False,
        "attributes": make_attributes({"sentry.op": op, "sentry.segment.id": f"{of:016x}", "thread.id": "0"}),
    }


def make_transaction(at_s: float = 0.0, name: str = "/product/4711", source: str = "url", **fields: object) -> Json:
    """Returns a transaction, as version 10 sends it."""
    op = "navigation" if at_s else "pageload"
    frame = {"op": "ui.long-animation-frame", "start_timestamp": START_S + at_s + 1, "timestamp": START_S + at_s + 1.2}
    data = {"url.full": f"{SHOP}{name}?a=b", "deviceMemory": "8 GB", "hardwareConcurrency": "4"}
    return {
        "contexts": {
            "trace": {"span_id": f"{int(at_s * 10) + 1:016x}", "trace_id": "c" * 32, "op": op, "data": data},
            "profile": {"profiler_id": PROFILER},
        },
        "spans": [frame | {"description": "Main UI thread blocked"}],
        "start_timestamp": START_S + at_s,
        "timestamp": START_S + at_s + 2,
        "transaction": name,
        "transaction_info": {"source": source},
        "request": {"url": f"{SHOP}{name}?a=b"},
        "measurements": {"lcp": {"value": 800, "unit": "millisecond"}},
        "type": "transaction",
        "release": "shop@1",
        **fields,
    }


def make_legacy(number: int = 1) -> Json:
    """Returns a profile of format 1."""
    samples = [{"stack_id": at % 3, "thread_id": "0", "elapsed_since_start_ns": str(at * 10**7)} for at in range(20)]
    return make_chunk(
        version="1",
        profiler_id=None,
        event_id=UUID(int=number).hex,
        timestamp="2026-11-28T10:00:00.000Z",
        runtime={"name": "javascript", "version": "an agent"},
        transactions=[{"name": "/product/4711", "id": "d" * 32}],
    ) | {"profile": make_chunk()["profile"] | {"samples": samples}}


def make_envelope(*items: tuple[str, object], **header: object) -> bytes:
    """Returns an envelope of some (type, payload), without a line end, as the SDK sends it."""
    lines = [json.dumps({"sent_at": "2026-11-26T10:00:00.000Z", **header})]
    for kind, payload in items:
        lines += [json.dumps({"type": kind}), payload if isinstance(payload, str) else json.dumps(payload)]
    return "\n".join(lines).encode()


def chunk_envelope(chunk: Json | None = None) -> bytes:
    return make_envelope(("profile_chunk", chunk or make_chunk()), event_id="e" * 32)


def span_envelope(*spans: Json) -> bytes:
    return make_envelope(("span", {"version": 2, "items": spans or [make_segment()]}))


def send(endpoint: IngestServer, body: bytes, *, address: str | None = None, **headers: str) -> IngestResponse:
    """Posts as the SDK does."""
    address = address or f"/sentry/api/{endpoint.project_id}/envelope/?sentry_version=7&sentry_key={endpoint.key}"
    headers = {"origin": SHOP, **headers}
    return endpoint.ask("POST", body, content_type="text/plain;charset=UTF-8", address=address, **headers)


def age(seconds: float) -> None:
    """Lets all waiting chunks be older."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ingest_pendingchunk SET received_at = received_at - %s * interval '1 second'", [seconds])


def join(seconds: float = 40) -> int:
    """Lets time pass and joins what is due; returns how many chunks were."""
    age(seconds)
    return join_chunks()


def stored(endpoint: IngestServer) -> list[dict[str, Any]]:  # Any: JSON
    """Returns the stored envelopes, by the start of their view and the time of their first sample."""
    bodies = [json.loads(body) for body in endpoint.bodies()]
    return sorted(bodies, key=lambda body: (body.get("viewStart", 0), body["trace"]["samples"][0]["timestamp"]))


def count(endpoint: IngestServer, table: str) -> int:
    ((rows,),) = endpoint.rows(f"SELECT count(*) FROM {table} WHERE project_id = %(project)s")
    return int(rows)
