"""The formats that can be imported, and the containers they may lie in. A new format is a module and a line here."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from profcore.errors import Reason, TraceError
from profcore.formats.importers import (
    cpuprofile,
    datadog,
    explainer,
    firefox,
    sentry,
    spec,
    speedscope,
    trace_events,
)
from profcore.formats.importers.completing import Completed, Defaults, complete, digest_of
from profcore.formats.importers.containers import ARRAY, LINES, PACKED, ZIP
from profcore.formats.importers.shapes import Budget, Container, FileError, Importer, ImportLimits, Source, check_json
from profcore.wire import Limits

IMPORTERS: Final[tuple[Importer, ...]] = (
    spec.ENVELOPE,
    spec.TRACE,
    explainer.EXPLAINER,
    datadog.DATADOG,
    sentry.SENTRY,
    cpuprofile.CPUPROFILE,
    trace_events.TRACE_EVENTS,
    firefox.FIREFOX,
    speedscope.SPEEDSCOPE,
)
# Asked after the formats: some of those are arrays or lines themselves.
CONTAINERS: Final[tuple[Container, ...]] = (PACKED, ZIP, ARRAY, LINES)


@dataclass(frozen=True, slots=True)
class Imported:
    """One trace of a file: its place there, the format it came in, and the envelope made of it."""

    place: str
    importer: Importer
    completed: Completed


class _Made:
    """What was made of a file so far: a few bytes may become thousands of samples, so its size does not bound it."""

    def __init__(self, limits: ImportLimits) -> None:
        self._limits = limits
        self._traces = self._samples = self._bytes = 0

    def add(self, completed: Completed) -> None:
        """Counts one trace. Raises `TraceError` where they are too many, or too large together."""
        limits = self._limits
        self._traces += 1
        self._samples += len(completed.envelope.trace.samples)
        self._bytes += len(completed.body)
        if self._traces > limits.traces:
            raise TraceError(Reason.TOO_MANY, "$", f"The file has more than {limits.traces} traces.")
        if self._samples > limits.samples:
            raise TraceError(Reason.TOO_MANY, "$", f"The file's traces have more than {limits.samples} samples.")
        if self._bytes > limits.expanded_bytes:
            detail = f"As envelopes, the file's traces have more than {limits.expanded_bytes} bytes."
            raise TraceError(Reason.TOO_LARGE, "$", detail)


def read_file(name: str, body: bytes, defaults: Defaults, limits: ImportLimits) -> Iterator[Imported]:
    """Yields every trace of a file, in its order. Raises `FileError` at the first fault, and nothing else.

    `name` is for people; it may be anything. The same bytes with the same defaults give the same traces.
    """
    if len(body) > limits.file_bytes:
        detail = f"The file has {len(body)} bytes; at most {limits.file_bytes} are taken."
        raise FileError(name, TraceError(Reason.TOO_LARGE, "$", detail))
    made = _Made(limits)
    for imported in _read(Source(name, body, limits), Budget(limits), limits.nesting, defaults):
        try:
            made.add(imported.completed)
        except TraceError as error:
            raise FileError(imported.place, error) from None
        yield imported


def find_importer(source: Source) -> Importer | None:
    """Returns the format an input is in, or None."""
    return next((importer for importer in IMPORTERS if importer.can_read(source)), None)


def translate_envelope(body: bytes, limits: Limits) -> bytes | None:
    """Returns an envelope whose trace is in another dialect of the wire as one of the spec's; None for any other body.

    Raises `TraceError` where the trace is in such a dialect, and wrong.
    """
    source = Source("", body, ImportLimits(values=limits.values, envelope=limits))
    importer = find_importer(source)
    return None if importer is None or importer.translate is None else importer.translate(source)


def _read(source: Source, budget: Budget, nesting: int, defaults: Defaults) -> Iterator[Imported]:
    try:
        importer = find_importer(source)
        if importer is not None:
            yield from _read_one(source, importer, defaults)
            return
        container = next((container for container in CONTAINERS if container.can_open(source)), None)
        if container is None:
            raise _unknown(source)
        if nesting == 0:
            detail = f"Containers lie in each other more than {source.limits.nesting} deep."
            raise TraceError(Reason.TOO_NESTED, "$", detail)
        for inner in container.open(source, budget):
            yield from _read(inner, budget, nesting - 1, defaults)
    except TraceError as error:
        raise FileError(source.place, error) from None


def _read_one(source: Source, importer: Importer, defaults: Defaults) -> Iterator[Imported]:
    digest = digest_of(source.body)
    for index, found in enumerate(importer.read(source)):
        completed = complete(
            found,
            digest=digest,
            index=index,
            format_name=importer.name,
            defaults=defaults,
            limits=source.limits,
        )
        yield Imported(source.place, importer, completed)


def _unknown(source: Source) -> TraceError:
    if not source.start:
        return TraceError(Reason.EMPTY_BODY, "$", "It is empty.")
    if source.start in b"{[":
        check_json(source)
    titles = ", ".join(importer.title for importer in IMPORTERS)
    return TraceError(Reason.UNSUPPORTED_MEDIA, "$", f"This is in no format that can be read: {titles}.")
