"""Chrome's and Node's `.cpuprofile`: nodes with callees, samples of node ids, `timeDeltas` in µs.

Chrome up to 57 wrote another shape (`old_cpuprofile`). Either may be in an answer of the DevTools protocol, as
`{"profile": …}`, alone or as its `result`. The clock is the machine's own: the file does not tell when and on which
page it was recorded.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from profcore.errors import TraceError
from profcore.formats.importers.chrome.old_cpuprofile import FIELDS as OLD_FIELDS
from profcore.formats.importers.chrome.old_cpuprofile import read_old_profile
from profcore.formats.importers.chrome.v8 import (
    Node,
    add_samples,
    add_spans,
    make_builder,
    notes_of,
    read_nodes,
    time_between,
)
from profcore.formats.importers.ours import SliceMetadata, fill
from profcore.formats.importers.shapes import Draft, Importer, InputTrace, Source

FIELDS: Final = frozenset({"nodes", "samples", "timeDeltas"})


class CpuProfile(msgspec.Struct, gc=False):
    """The whole file. The first delta counts from `startTime`; the last sample lasts until `endTime`. Both are µs."""

    nodes: list[Node]
    samples: list[int]
    timeDeltas: list[float]
    startTime: float | None = None
    endTime: float | None = None
    fieldflame: SliceMetadata | None = None


_decoder = msgspec.json.Decoder(CpuProfile)


def _find_profile(source: Source) -> tuple[Source, str] | None:
    """Returns the profile of an input and its path: the input itself, or in an answer of the DevTools protocol."""
    inner, path = source, "$"
    for name in ("result", "profile"):
        if name in inner.fields:
            inner, path = Source(source.place, bytes(inner.fields[name]), source.limits), f"{path}.{name}"
    fields = inner.fields.keys()
    return (inner, path) if fields >= FIELDS or fields >= OLD_FIELDS else None


def _can_read(source: Source) -> bool:
    return _find_profile(source) is not None


def _read(source: Source) -> Iterator[InputTrace]:
    found = _find_profile(source)
    assert found is not None  # `can_read`
    inner, path = found
    try:
        yield _read_old(inner) if not inner.fields.keys() >= FIELDS else _read_profile(inner)
    except TraceError as error:
        raise TraceError(error.reason, path + error.path[1:], error.detail) from None


def _read_old(source: Source) -> InputTrace:
    profile = read_old_profile(source)
    builder = make_builder(source.limits)
    nodes = read_nodes(profile.nodes, builder, "$.head")
    add_samples(builder, nodes.places, profile.samples, profile.deltas_us, "$.samples", lasts_us=profile.lasts_us)
    return InputTrace(Draft(trace=builder.build()), notes_of(nodes, profile.samples))


def _read_profile(source: Source) -> InputTrace:
    profile = source.decode(_decoder)
    builder = make_builder(source.limits)
    metadata = profile.fieldflame
    nodes = read_nodes(profile.nodes, builder, "$.nodes", is_ours=metadata is not None)
    places = nodes.places
    if metadata is None:
        lasts_us = time_between(profile.startTime, profile.endTime)
        add_samples(builder, places, profile.samples, profile.timeDeltas, "$.samples", lasts_us=lasts_us)
        return InputTrace(Draft(trace=builder.build()), notes_of(nodes, profile.samples))
    interval = add_spans(builder, places, profile.samples, profile.timeDeltas, metadata, path="$.samples")
    draft = Draft(trace=builder.build(), sampleInterval=interval, marks=builder.marks)
    fill(draft, metadata)
    return InputTrace(draft)


CPUPROFILE: Final = Importer(name="cpuprofile", title="a .cpuprofile", can_read=_can_read, read=_read)
