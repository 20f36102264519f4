"""The API's first proposal (explainer and draft of 2019): frames with `category` and `uri`, no table of resources.

A stack names its caller by `stackId` in the explainer and by `parentId` in the draft. A sample without `stackId` has no
stack. `line` and `column` are 1-based and are the place of the function's definition, as they are today.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from profcore.errors import Reason, TraceError
from profcore.formats.importers.building import TraceBuilder, dangling, storable_text
from profcore.formats.importers.shapes import Draft, Importer, ImportLimits, InputTrace, Source, read_fields
from profcore.formats.importers.spec import TRACE
from profcore.trace.wire import Trace

TABLES: Final = frozenset({"frames", "stacks", "samples"})


class DraftFrame(msgspec.Struct, gc=False, kw_only=True):
    """A frame; `name` is null for a script's top level. The proposal had only the category `js`."""

    uri: str | None = None
    name: str | None = None
    category: str | None = None
    line: int | None = None
    column: int | None = None


class DraftStack(msgspec.Struct, gc=False):
    """A node of the prefix tree."""

    frameId: int
    parentId: int | None = None
    stackId: int | None = None


class DraftSample(msgspec.Struct, gc=False):
    """One observation, ms since the time origin."""

    timestamp: float
    stackId: int | None = None


class DraftTrace(msgspec.Struct, gc=False):
    """The planned result of `profiler.stop()`."""

    frames: list[DraftFrame]
    stacks: list[DraftStack]
    samples: list[DraftSample]


class _Wrapped(msgspec.Struct):
    trace: DraftTrace


_decoder = msgspec.json.Decoder(DraftTrace)
_wrapped_decoder = msgspec.json.Decoder(_Wrapped)
_fields_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _can_read(source: Source) -> bool:
    fields = source.fields
    if "trace" in fields:
        fields = read_fields(fields["trace"])
    if not fields.keys() >= TABLES or "resources" in fields:
        return False
    frames = bytes(fields["frames"])
    return b'"uri"' in frames or b'"category"' in frames


def _read(source: Source) -> Iterator[InputTrace]:
    if "trace" in source.fields:
        yield from TRACE.read(Source(source.place, _translate(source), source.limits))
    else:
        yield InputTrace(Draft(trace=_build(source.decode(_decoder), "$", source.limits)))


def _translate(source: Source) -> bytes:
    """Returns an object with its `trace` translated from this dialect to the spec's; the rest is unchanged."""
    trace = _build(source.decode(_wrapped_decoder).trace, "$.trace", source.limits)
    fields = source.decode(_fields_decoder)
    fields["trace"] = msgspec.Raw(msgspec.json.encode(trace))
    return msgspec.json.encode(fields)


def _build(trace: DraftTrace, path: str, limits: ImportLimits) -> Trace:
    builder = TraceBuilder(limits, storable_text)
    frames = [builder.frame(frame.name or "", frame.uri, frame.line, frame.column) for frame in trace.frames]
    stacks: list[int] = []
    for index, stack in enumerate(trace.stacks):
        if not 0 <= stack.frameId < len(frames):
            raise dangling(f"{path}.stacks[{index}].frameId", "frames")
        caller = stack.parentId if stack.parentId is not None else stack.stackId
        if caller is not None and not 0 <= caller < index:
            detail = "A stack's caller must come before it."
            raise TraceError(Reason.PARENT_ORDER, f"{path}.stacks[{index}]", detail)
        stacks.append(builder.stack(None if caller is None else stacks[caller], frames[stack.frameId]))
    for index, sample in enumerate(trace.samples):
        if sample.stackId is not None and not 0 <= sample.stackId < len(stacks):
            raise dangling(f"{path}.samples[{index}].stackId", "stacks")
        builder.sample(sample.timestamp, None if sample.stackId is None else stacks[sample.stackId])
    return builder.build()


EXPLAINER: Final = Importer(
    name="explainer", title="the API's first proposal", can_read=_can_read, read=_read, translate=_translate
)
