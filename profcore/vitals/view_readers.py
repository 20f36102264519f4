"""From the stored bodies of a page view to what ran in its windows. There are two twins.

`PureReader` is the reference. `CompiledReader` does the same in the compiled kernel, without a Python object per
sample, func or mark. Whatever the kernel does not plainly accept it leaves to the reference.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final, NamedTuple, Protocol

from profcore.formats.timeline import ViewTrace, build_timeline
from profcore.sums.batch_sums import Body
from profcore.trace.addresses import canonical_uri
from profcore.trace.dimensions import CACHES, NAVIGATIONS
from profcore.trace.funcs import SNIPPET_FUNCTIONS, FuncTable, clean_url, strip_uri
from profcore.trace.marks import MAX_FACT_CHARS, clean_fact, read_marks
from profcore.trace.wire import Limits, decode_envelope
from profcore.vitals.forced_layout import (
    ForcedLayout,
    ForcedScript,
    find_scripts,
    keep_whole,
    part_scripts,
    sum_forced_layout,
)
from profcore.vitals.func_times import FuncTimes
from profcore.vitals.hidden_scripts import OriginTime, find_hidden_scripts, sum_hidden_scripts, sum_origins
from profcore.vitals.window_sums import WindowSums, sum_windows, tile_samples
from profcore.vitals.windows import WINDOW_MARKS, ViewWindows, find_windows

Choose = Callable[[ViewWindows], ViewWindows]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadView:
    """A view's windows, and what ran in these. Funcs are indexes of the reader's table.

    Its forced layout, and its hidden scripts by origin, are None if scripts were not asked for. `slow_rate` is that of
    its first trace.
    """

    windows: ViewWindows
    sums: Mapping[str, WindowSums]
    forced: ForcedLayout | None = None
    hidden: Mapping[str, OriginTime] | None = None
    slow_rate: float | None = None


class ViewReader(Protocol):
    """Reads page views, one at a time."""

    def read(self, bodies: Sequence[Body], *, page: str, choose: Choose, with_scripts: bool) -> ReadView:
        """Returns a view, given by the stored bodies of its traces. `choose` picks windows among those that it has.

        New funcs are interned into the reader's table. Raises `TraceError`.
        """


class PureReader(ViewReader):
    """The reference, in Python."""

    def __init__(self, funcs: FuncTable, limits: Limits) -> None:
        self._funcs = funcs
        self._limits = limits

    def read(self, bodies: Sequence[Body], *, page: str, choose: Choose, with_scripts: bool) -> ReadView:
        traces = [self._decode(body.expand(), page) for body in bodies]
        timeline = build_timeline(traces, page=page, funcs=self._funcs)
        windows, times, first = choose(find_windows(timeline.marks)), tile_samples(timeline), traces[0].envelope
        sums = sum_windows(timeline, windows, times)
        if not with_scripts:
            return ReadView(windows=windows, sums=sums, slow_rate=first.slowRate)
        scripts = find_scripts(timeline.marks)
        return ReadView(
            windows=windows,
            sums=sums,
            forced=sum_forced_layout(timeline, scripts, self._funcs.keys, times),
            hidden=sum_hidden_scripts(timeline, scripts, times, first.url),
            slow_rate=first.slowRate,
        )

    def _decode(self, body: bytes, page: str) -> ViewTrace:
        envelope = decode_envelope(body, self._limits)
        page_url = clean_url(envelope.url) if envelope.url else None
        return ViewTrace(envelope, read_marks(body, page_url=page_url, page=page, types=WINDOW_MARKS))


class CompiledReader(ViewReader):
    """The same by the compiled kernel."""

    def __init__(self, module: ModuleType, funcs: FuncTable, limits: Limits, *, max_bytes: int) -> None:
        self._pure: Final = PureReader(funcs, limits)
        # Any: the module may be absent where types are checked.
        words = list(NAVIGATIONS[1:]), list(CACHES[1:])
        self._kernel: Any = module.ViewReader(funcs, limits, max_bytes, *words, SNIPPET_FUNCTIONS)

    def read(self, bodies: Sequence[Body], *, page: str, choose: Choose, with_scripts: bool) -> ReadView:
        view = self._read(bodies, page, choose, with_scripts)
        return view or self._pure.read(bodies, page=page, choose=choose, with_scripts=with_scripts)

    def _read(self, bodies: Sequence[Body], page: str, choose: Choose, with_scripts: bool) -> ReadView | None:
        read = self._kernel.read([(body.is_gzip, body.body) for body in bodies], page)
        if read is None:
            return None
        (ranges, event, target, at, frames), sent_scripts, sent_urls, url, slow_rate = read
        urls = [_read_urls(trace_url, own_script, page) for trace_url, own_script in sent_urls]
        target = clean_fact("target", target, urls[at].page_url, page)
        windows = choose(ViewWindows(ranges=dict(ranges), event=event, target=target, frames=frames))
        sums = self._sum_windows(windows)
        if sums is None or not with_scripts:
            return None if sums is None else ReadView(windows=windows, sums=sums, slow_rate=slow_rate)
        scripts = part_scripts(_read_scripts(sent_scripts, urls, page))
        hidden = find_hidden_scripts(scripts, url)
        seen = self._kernel.sum_scripts(
            [(*script[:4], canonical_uri(script.address)) for script in scripts],
            [found.script[:2] for found in hidden],
        )
        if seen is None:
            return None
        is_measured, forced, unattributed_us, own, of_hidden = seen
        return ReadView(
            windows=windows,
            sums=sums,
            forced=ForcedLayout(
                is_measured=is_measured,
                funcs=FuncTimes.of_bytes(forced),
                unattributed_us=unattributed_us,
                own=FuncTimes.of_bytes(own),
            ),
            hidden=sum_origins(hidden, of_hidden),
            slow_rate=slow_rate,
        )

    def _sum_windows(self, windows: ViewWindows) -> Mapping[str, WindowSums] | None:
        sums = self._kernel.sum_windows(list(windows.ranges.values()))
        if sums is None:
            return None
        return {
            window: WindowSums(length_us=sum(parts), parts_us=parts, funcs=FuncTimes.of_bytes(funcs))
            for window, (parts, funcs) in zip(windows.ranges, sums, strict=True)
        }


class _TraceUrls(NamedTuple):
    """The page's URL and the snippet's address of a trace, as marks have them."""

    page_url: str | None
    own_script: str | None


def _read_urls(url: str | None, own_script: str | None, page: str) -> _TraceUrls:
    page_url = clean_url(url) if url else None
    address = None if own_script is None else strip_uri(own_script, page_url, page)
    return _TraceUrls(page_url, address and address[:MAX_FACT_CHARS])


def _read_scripts(
    scripts: Sequence[tuple[int, int, int, str, bool, int]], urls: Sequence[_TraceUrls], page: str
) -> list[ForcedScript]:
    """Returns scripts as `find_scripts` reads them. Each has its address as sent, and its trace's number."""
    read = []
    for start_us, end_us, forced_us, url, is_hidden, at in scripts:
        address = clean_fact("url", url, urls[at].page_url, page)
        if not address or address != urls[at].own_script:
            read.append(ForcedScript(start_us, end_us, forced_us, keep_whole(address), is_hidden))
    return read


def open_reader(module: ModuleType | None, funcs: FuncTable, limits: Limits, *, max_bytes: int) -> ViewReader:
    """Returns a reader of views: the kernel's, or the pure twin if `module` is None.

    `max_bytes` bounds an expanded body; bodies that are larger expand with an error.
    """
    if module is None:
        return PureReader(funcs, limits)
    return CompiledReader(module, funcs, limits, max_bytes=max_bytes)
