"""Envelopes from found traces: facts that a file does not have are taken from the defaults of the import."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Final
from uuid import UUID, uuid5

import msgspec

from profcore.errors import Reason, TraceError
from profcore.formats.importers.building import measure_interval_ms
from profcore.formats.importers.shapes import Draft, ImportLimits, InputTrace
from profcore.trace.wire import (
    MAX_EPOCH_MS,
    MAX_SHORT_CHARS,
    MIN_EPOCH_MS,
    NULL,
    Envelope,
    check_trace,
    decode_envelope,
)

# Ids of imported views and traces derive from the file's content: the same file always gives the same ids.
NAMESPACE: Final = UUID("5b0c7d1e-8a52-5d34-b7a1-3f0e6c9d2a48")
UNNAMED: Final = "(unknown)"  # the release, or the page, of a posted trace that names none
_encoder = msgspec.json.Encoder()


@dataclass(frozen=True, slots=True)
class Defaults:
    """Values from the importing user for traces whose file does not have them. `at_ms` is epoch ms: a time, or now."""

    release: str | None
    page: str | None
    at_ms: float


@dataclass(frozen=True, slots=True)
class Completed:
    """A trace ready to be stored: its envelope, the envelope's bytes, and the fields that the file did not have."""

    envelope: Envelope
    body: bytes
    missing: tuple[str, ...]
    notes: tuple[str, ...]


def complete(
    trace: InputTrace, *, digest: bytes, index: int, tags: Mapping[str, str], defaults: Defaults, limits: ImportLimits
) -> Completed:
    """Returns a found trace as an envelope that passed the checks of ingest, with some tags beside its own.

    `digest` is of the input's bytes (`digest_of`), `index` the trace's place in it. Raises `TraceError` if neither the
    file nor the defaults have a release or page, and for everything that ingest would reject.
    """
    if trace.body is not None:
        return Completed(_check(trace.body, limits), trace.body, (), trace.notes)
    draft = trace.draft
    _need(draft.release or defaults.release, "$.release", "release")
    _need(draft.page or draft.url or defaults.page, "$.page", "page")
    try:
        check_trace(draft.trace, limits.envelope)
        fields = _fill(draft, digest, index, defaults)
        fields["tags"] = {**tags, **draft.tags}
        fields["environment"] = draft.tags.get("env", "")[:MAX_SHORT_CHARS] or None  # as other SDKs name it
        body = _encode(Envelope(**fields))
        return Completed(_check(body, limits), body, _missing(draft), trace.notes)
    except TraceError as error:
        raise TraceError(error.reason, error.path, f"In the resulting envelope: {error.detail}") from None


def _missing(draft: Draft) -> tuple[str, ...]:
    is_said = {
        "release": draft.release,
        "timeOrigin": draft.timeOrigin is not None,
        "page": draft.page or draft.url,
        "sampleInterval": draft.sampleInterval is not None,
        "viewId": draft.viewId is not None,
    }
    return tuple(name for name, said in is_said.items() if not said)


def _fill(draft: Draft, digest: bytes, index: int, defaults: Defaults) -> dict[str, Any]:  # Any: an envelope's fields
    fields = {name: value for name, value in msgspec.structs.asdict(draft).items() if value is not None}
    fields["release"] = draft.release or defaults.release
    fields.setdefault("timeOrigin", defaults.at_ms)
    if not draft.page and not draft.url:
        fields["page"] = defaults.page
    if draft.sampleInterval is None:
        fields["sampleInterval"] = measure_interval_ms(draft.trace.samples)
    if draft.viewId is None:
        fields["viewId"] = uuid5(NAMESPACE, f"{digest.hex()}:{index}")
    if draft.seq is None:
        fields["seq"] = 0 if draft.viewId is None else _seq_of(digest, index)
    return fields


def _check(body: bytes, limits: ImportLimits) -> Envelope:
    if len(body) > limits.trace_bytes:
        raise TraceError(Reason.TOO_LARGE, "$", f"As an envelope, the trace has more than {limits.trace_bytes} bytes.")
    return decode_envelope(body, limits.envelope)


def digest_of(body: bytes) -> bytes:
    """Returns the digest of an input, from which ids are derived."""
    return blake2b(body, digest_size=16).digest()


def is_known_time(epoch_ms: float) -> bool:
    """Returns whether ingest accepts a time; a clock beyond that means nothing."""
    return MIN_EPOCH_MS <= epoch_ms <= MAX_EPOCH_MS


def _need(value: str | None, path: str, what: str) -> None:
    if not value:
        detail = f"The file names no {what}, and none was given for it."
        raise TraceError(Reason.MISSING_PAGE if what == "page" else Reason.MISSING_FIELD, path, detail)


def _seq_of(digest: bytes, index: int) -> int:
    """Returns a sequence number for a trace of a known view. It only has to be unique, not in order."""
    return int.from_bytes(blake2b(digest + index.to_bytes(4, "big"), digest_size=4).digest(), "big") >> 1


def _encode(envelope: Envelope) -> bytes:
    """Returns an envelope encoded as senders do: without fields that it does not have."""
    fields = msgspec.structs.asdict(envelope)
    return _encoder.encode({name: value for name, value in fields.items() if value is not None and value != NULL})
