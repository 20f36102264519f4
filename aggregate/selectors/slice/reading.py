"""How a slice is read: at once within bounds while a client waits for an answer, or page by page at any size."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from aggregate.selectors.slice.slices import SliceError

# Of a function's name and file: recorded ones have 56 on average, 85 at most. Exporters hold them up to three times.
CHARS_PER_FUNC: Final = 200
NARROW = "Narrow the slice, e.g. by from, page or view."


def _ignore(_: int) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The bounds of one reading; None is no bound. The slice's sums do not depend on them.

    With `max_views`, all views are read at once, and a slice with more is an error. Without it they come in pages of
    `page_views`. `max_raw_nodes` is for trees of raw traces, `max_nodes` for those of cells too; `max_samples` and
    `max_facts` are for views on their clocks. Raw bodies come in batches of `batch_traces` and `FOLD_BATCH_BYTES`.
    `on_traces` is called with the number of traces looked at after each page or batch, and after the cells of that
    number of traces. If it raises, the reading ends.
    """

    max_views: int | None = None
    max_contribution_bytes: int | None = None
    max_view_funcs: int | None = None
    max_raw_traces: int | None = None
    max_raw_bytes: int | None = None
    max_trace_bytes: int | None = None
    max_raw_nodes: int | None = None
    max_samples: int | None = None
    max_facts: int | None = None
    max_nodes: int | None = None
    max_funcs: int | None = None
    page_views: int = 1
    batch_traces: int = 1
    on_traces: Callable[[int], object] = _ignore

    @classmethod
    def at_once(cls) -> "Reading":
        """Returns the reading for an answer that a client waits for."""
        return cls(
            max_views=settings.READ_MAX_VIEWS,
            max_contribution_bytes=settings.READ_MAX_CONTRIBUTION_BYTES,
            max_view_funcs=settings.READ_MAX_VIEW_FUNCS,
            max_raw_traces=settings.READ_MAX_RAW_TRACES,
            max_raw_bytes=settings.READ_MAX_RAW_BYTES,
            max_trace_bytes=settings.READ_TRACE_MAX_BYTES,
            max_raw_nodes=settings.READ_MAX_RAW_NODES,
            max_nodes=settings.JOB_MAX_NODES,
            max_funcs=settings.READ_MAX_FUNCS,
            max_samples=settings.READ_MAX_SAMPLES,
            max_facts=settings.READ_MAX_FACTS,
            batch_traces=settings.JOB_BATCH_TRACES,
        )

    @classmethod
    def in_pages(cls, on_traces: Callable[[int], object] = _ignore) -> "Reading":
        """Returns the reading for a job or a command: any number of traces, in bounded memory except for the result."""
        return cls(
            max_trace_bytes=settings.JOB_TRACE_MAX_BYTES,
            max_nodes=settings.JOB_MAX_NODES,
            max_funcs=settings.JOB_MAX_FUNCS,
            max_samples=settings.JOB_MAX_SAMPLES,
            max_facts=settings.JOB_MAX_FACTS,
            page_views=settings.JOB_PAGE_VIEWS,
            batch_traces=settings.JOB_BATCH_TRACES,
            on_traces=on_traces,
        )

    def is_beyond(self, traces: int, size: int) -> bool:
        """Returns whether a number of raw traces, or of expanded bytes, reaches the bounds."""
        return (self.max_raw_traces is not None and traces >= self.max_raw_traces) or (
            self.max_raw_bytes is not None and size >= self.max_raw_bytes
        )

    def check_raw(self, traces: int, size: int) -> None:
        """Raises `SliceTooLarge` if a number of raw traces, or of expanded bytes, is too large to fold."""
        if self.max_raw_traces is not None and traces > self.max_raw_traces:
            raise SliceTooLarge("from", f"More than {self.max_raw_traces} raw traces would be folded. {NARROW}")
        if self.max_raw_bytes is not None and size > self.max_raw_bytes:
            raise SliceTooLarge("from", f"More than {self.max_raw_bytes} bytes of traces would be folded. {NARROW}")

    def check_trace(self, size: int, field: str) -> None:
        """Raises `SliceTooLarge` if a raw trace has too many expanded bytes: it is decoded whole."""
        if self.max_trace_bytes is not None and size > self.max_trace_bytes:
            detail = f"A raw trace has {size} bytes; at most {self.max_trace_bytes} of one trace are read."
            raise SliceTooLarge(field, detail)

    def check_clock(self, samples: int, facts: int, field: str) -> None:
        """Raises `SliceTooLarge` if views have too many samples, or marks and facts of marks, for their clocks."""
        for count, most, what in (
            (samples, self.max_samples, "samples"),
            (facts, self.max_facts, "marks and facts of marks"),
        ):
            if most is not None and count > most:
                detail = f"The views have more than {most} {what}. Name fewer, or let a job prepare a profile of them."
                raise SliceTooLarge(field, detail)

    def check_nodes(self, nodes: int) -> None:
        """Raises `SliceTooLarge` if a call tree has grown too large for memory."""
        _check_nodes(nodes, self.max_nodes, "from", fits_job=False)

    def check_raw_nodes(self, nodes: int, field: str = "from") -> None:
        """Raises `SliceTooLarge` if the call paths of raw traces have grown too many for memory."""
        most = self.max_nodes if self.max_raw_nodes is None else self.max_raw_nodes
        _check_nodes(nodes, most, field, fits_job=self.max_raw_nodes is not None)

    def check_funcs(self, funcs: int, chars: int = 0, field: str = "from") -> None:
        """Raises `SliceTooLarge` if more functions were met than fit into memory; `chars` are of their names."""
        if self.max_funcs is None:
            return
        if funcs > self.max_funcs:
            raise SliceTooLarge(field, f"The raw traces have more than {self.max_funcs} functions. {NARROW}")
        if chars > (most := self.max_funcs * CHARS_PER_FUNC):
            raise SliceTooLarge(field, f"The functions' names and files have more than {most} characters. {NARROW}")


def _check_nodes(nodes: int, most: int | None, field: str, *, fits_job: bool) -> None:
    if most is not None and nodes > most:
        raise SliceTooLarge(field, f"The call tree has more than {most} call nodes. {NARROW}", fits_job=fits_job)


class SliceTooLarge(SliceError):
    """The slice is valid, but larger than this reading allows. A job may read more, unless not `fits_job`."""

    def __init__(self, field: str, detail: str, *, fits_job: bool = True) -> None:
        super().__init__(field, detail)
        self.fits_job = fits_job
