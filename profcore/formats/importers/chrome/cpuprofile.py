"""Chrome's and Node's `.cpuprofile`: nodes with callees, samples of node ids, `timeDeltas` in µs.

The clock is the machine's own: the file does not tell when and on which page it was recorded.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

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


def _can_read(source: Source) -> bool:
    return source.fields.keys() >= FIELDS


def _read(source: Source) -> Iterator[InputTrace]:
    profile = source.decode(_decoder)
    builder = make_builder(source.limits)
    metadata = profile.fieldflame
    nodes = read_nodes(profile.nodes, builder, "$.nodes", is_ours=metadata is not None)
    places = nodes.places
    if metadata is None:
        lasts_us = time_between(profile.startTime, profile.endTime)
        add_samples(builder, places, profile.samples, profile.timeDeltas, "$.samples", lasts_us=lasts_us)
        yield InputTrace(Draft(trace=builder.build()), notes_of(nodes, profile.samples))
        return
    interval = add_spans(builder, places, profile.samples, profile.timeDeltas, metadata, path="$.samples")
    draft = Draft(trace=builder.build(), sampleInterval=interval, marks=builder.marks)
    fill(draft, metadata)
    yield InputTrace(draft)


CPUPROFILE: Final = Importer(name="cpuprofile", title="a .cpuprofile", can_read=_can_read, read=_read)
