"""The formats a slice can be written in, by the name the read API and `export_profile` use."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from profcore.formats.firefox.writer import write_profile as write_firefox
from profcore.formats.slice import SliceExport


@dataclass(frozen=True, slots=True)
class Exporter:
    """One format: `write` yields a slice's file in pieces, not compressed; `suffix` ends its file name."""

    name: str
    title: str
    media_type: str
    suffix: str
    write: Callable[[SliceExport], Iterator[bytes]]


EXPORTERS: Final[Mapping[str, Exporter]] = MappingProxyType(
    {
        exporter.name: exporter
        for exporter in (Exporter("firefox", "Firefox Profiler", "application/json", ".json", write_firefox),)
    }
)
