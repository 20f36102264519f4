"""The spec's dialect: the result of `profiler.stop()`, alone or with some facts around it; and our own envelopes."""

from collections.abc import Iterator
from typing import Final

import msgspec

from profcore.errors import TraceError
from profcore.formats.importers.completing import is_known_time
from profcore.formats.importers.shapes import Draft, Importer, InputTrace, Source, read_fields
from profcore.trace.wire import Trace, check_trace, decode_envelope

TABLES: Final = frozenset({"resources", "frames", "stacks", "samples"})
# The fields that make an object around a trace a whole envelope.
ENVELOPE_FIELDS: Final = frozenset({"viewId", "seq", "release", "timeOrigin", "sampleInterval", "trace"})

_trace_decoder = msgspec.json.Decoder(Trace)
_draft_decoder = msgspec.json.Decoder(Draft)


class _Timing(msgspec.Struct):
    navigationStart: float | None = None


class _Timed(msgspec.Struct):
    timing: _Timing | None = None


_timed_decoder = msgspec.json.Decoder(_Timed)


def _is_envelope(source: Source) -> bool:
    fields = source.fields
    return fields.keys() >= ENVELOPE_FIELDS and _is_trace_in(fields["trace"])


def _is_trace(source: Source) -> bool:
    fields = source.fields
    if "trace" in fields:
        return not fields.keys() >= ENVELOPE_FIELDS and _is_trace_in(fields["trace"])
    return fields.keys() >= TABLES and "clocksOrigin" not in fields


def _is_trace_in(trace: msgspec.Raw) -> bool:
    tables = read_fields(trace)
    return tables.keys() >= TABLES and "clocksOrigin" not in tables


def _read_envelope(source: Source) -> Iterator[InputTrace]:
    envelope = decode_envelope(source.body, source.limits.envelope)
    yield InputTrace(Draft(trace=envelope.trace), body=source.body)


def _read_trace(source: Source) -> Iterator[InputTrace]:
    """Yields a trace, either alone or in an object with some of an envelope's fields.

    `timing`, which the API's explainer sends too, tells when the page's load began.
    """
    if "trace" not in source.fields:
        trace = source.decode(_trace_decoder)
        _check(trace, source, "$")
        yield InputTrace(Draft(trace=trace))
        return
    draft = source.decode(_draft_decoder)
    _check(draft.trace, source, "$.trace")
    if draft.timeOrigin is None and "timing" in source.fields:
        timing = source.decode(_timed_decoder).timing
        start = timing.navigationStart if timing is not None else None
        draft.timeOrigin = start if start is not None and is_known_time(start) else None
    yield InputTrace(draft)


def _check(trace: Trace, source: Source, path: str) -> None:
    try:
        check_trace(trace, source.limits.envelope)
    except TraceError as error:
        raise TraceError(error.reason, error.path.replace("$.trace", path, 1), error.detail) from None


ENVELOPE: Final = Importer(name="envelope", title="Fieldflame's envelope", can_read=_is_envelope, read=_read_envelope)
TRACE: Final = Importer(
    name="trace", title="a trace of the JS Self-Profiling API", can_read=_is_trace, read=_read_trace
)
