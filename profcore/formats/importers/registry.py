"""The formats that can be imported, and their possible containers. A new format is a module and a line here."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from profcore.errors import Reason, TraceError
from profcore.formats.importers import datadog, explainer, spec, speedscope
from profcore.formats.importers.chrome import cpuprofile, trace_events
from profcore.formats.importers.chrome.cut_short import close_events
from profcore.formats.importers.completing import Completed, Defaults, complete, digest_of
from profcore.formats.importers.containers import ARRAY, COMPRESSED, LINES, ZIP
from profcore.formats.importers.firefox import profile
from profcore.formats.importers.sentry import profiles
from profcore.formats.importers.shapes import Budget, Container, FileError, Importer, ImportLimits, Source, check_json
from profcore.trace.wire import Limits
from profcore.unicode import TextTooLong, to_utf8

IMPORTERS: Final[tuple[Importer, ...]] = (
    spec.ENVELOPE,
    spec.TRACE,
    explainer.EXPLAINER,
    datadog.DATADOG,
    profiles.SENTRY,
    cpuprofile.CPUPROFILE,
    trace_events.TRACE_EVENTS,
    profile.FIREFOX,
    speedscope.SPEEDSCOPE,
)
# Checked after the formats, since some formats are arrays or lines themselves.
CONTAINERS: Final[tuple[Container, ...]] = (COMPRESSED, ZIP, ARRAY, LINES)


@dataclass(frozen=True, slots=True)
class Imported:
    """One trace of a file: its place there, its format, and its envelope."""

    place: str
    importer: Importer
    completed: Completed


class _Made:
    """The sums of a file's traces so far. A file's size does not bound them: few bytes may become many samples."""

    def __init__(self, limits: ImportLimits) -> None:
        self._limits = limits
        self._traces = self._samples = self._bytes = 0

    def add(self, completed: Completed) -> None:
        """Counts one trace. Raises `TraceError` if they are too many, or too large together."""
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
    """Yields every trace of a file, in its order. Raises only `FileError`, at the first error.

    `name` is for people and may be anything. The same bytes with the same defaults give the same traces.
    """
    if len(body) > limits.file_bytes:
        detail = f"The file has {len(body)} bytes; at most {limits.file_bytes} are accepted."
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
    """Returns an envelope with its trace translated from another dialect of the wire; None for any other body.

    Raises `TraceError` if the trace is in such a dialect and is invalid.
    """
    source = Source("", body, ImportLimits(values=limits.values, envelope=limits))
    importer = find_importer(source)
    return None if importer is None or importer.translate is None else importer.translate(source)


def _read(source: Source, budget: Budget, nesting: int, defaults: Defaults) -> Iterator[Imported]:
    try:
        source = _as_utf8(source)
        importer = find_importer(source)
        if importer is not None:
            yield from _read_with(source, importer, defaults)
            return
        closed = close_events(source)
        if closed is not None:
            yield from _read_with(closed.source, trace_events.TRACE_EVENTS, defaults, closed.notes)
            return
        container = next((container for container in CONTAINERS if container.can_open(source)), None)
        if container is None:
            raise _unknown(source)
        if nesting == 0:
            detail = f"Containers are nested more than {source.limits.nesting} deep."
            raise TraceError(Reason.TOO_NESTED, "$", detail)
        for inner in container.open(source, budget):
            yield from _read(inner, budget, nesting - 1, defaults)
    except TraceError as error:
        raise FileError(source.place, error) from None


def _as_utf8(source: Source) -> Source:
    """Returns an input without a byte order mark. Raises `TraceError` if it is too large as UTF-8."""
    try:
        body = to_utf8(source.body, source.limits.input_bytes)
    except TextTooLong:
        detail = f"As UTF-8, the input has more than {source.limits.input_bytes} bytes."
        raise TraceError(Reason.TOO_LARGE, "$", detail) from None
    return source if body is source.body else Source(source.place, body, source.limits)


def _read_with(
    source: Source, importer: Importer, defaults: Defaults, notes: tuple[str, ...] = ()
) -> Iterator[Imported]:
    """Yields an input's traces, all with some notes."""
    digest = digest_of(source.body)
    for index, trace in enumerate(importer.read(source)):
        completed = complete(
            replace(trace, notes=(*trace.notes, *notes)),
            digest=digest,
            index=index,
            tags={"imported": importer.name},
            defaults=defaults,
            limits=source.limits,
        )
        yield Imported(source.place, importer, completed)


def _unknown(source: Source) -> TraceError:
    if not source.start:
        return TraceError(Reason.EMPTY_BODY, "$", "The input is empty.")
    if source.start in b"{[":
        check_json(source)
    titles = ", ".join(importer.title for importer in IMPORTERS)
    return TraceError(Reason.UNSUPPORTED_MEDIA, "$", f"The input has an unknown format. These can be read: {titles}.")
