"""How a slice is read: at once within bounds while somebody waits for an answer, or page by page at any size."""

from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings

from aggregate.selectors.slice.slices import SliceError

NARROW = "Narrow the slice, e.g. by from, page or view."


def _ignore(_: int) -> None:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The bounds of one reading; None is no bound. The slice's sums do not depend on them.

    With `max_views`, all views are read at once, and a slice with more is an error. Without it they come in pages of
    `page_views`. Raw bodies come in batches of `batch_traces` and `FOLD_BATCH_BYTES`. `on_traces` is called with the
    number of traces looked at after each page or batch, and after the cells of so many traces. If it raises, the
    reading ends.
    """

    max_views: int | None = None
    max_raw_traces: int | None = None
    max_raw_bytes: int | None = None
    max_nodes: int | None = None
    max_funcs: int | None = None
    page_views: int = 1
    batch_traces: int = 1
    on_traces: Callable[[int], object] = _ignore

    @classmethod
    def at_once(cls) -> "Reading":
        """Returns the reading for an answer that somebody waits for."""
        return cls(
            max_views=settings.READ_MAX_VIEWS,
            max_raw_traces=settings.READ_MAX_RAW_TRACES,
            max_raw_bytes=settings.READ_MAX_RAW_BYTES,
            batch_traces=settings.JOB_BATCH_TRACES,
        )

    @classmethod
    def in_pages(cls, on_traces: Callable[[int], object] = _ignore) -> "Reading":
        """Returns the reading for a job or a command: any number of traces, in bounded memory except for the result."""
        return cls(
            max_nodes=settings.JOB_MAX_NODES,
            max_funcs=settings.JOB_MAX_FUNCS,
            page_views=settings.JOB_PAGE_VIEWS,
            batch_traces=settings.JOB_BATCH_TRACES,
            on_traces=on_traces,
        )

    def is_beyond(self, traces: int, size: int) -> bool:
        """Tells whether so many raw traces, or so many expanded bytes, reach the bounds."""
        return (self.max_raw_traces is not None and traces >= self.max_raw_traces) or (
            self.max_raw_bytes is not None and size >= self.max_raw_bytes
        )

    def check_raw(self, traces: int, size: int) -> None:
        """Raises `SliceTooLarge` if so many raw traces, or so many expanded bytes, are too many to fold."""
        if self.max_raw_traces is not None and traces > self.max_raw_traces:
            raise SliceTooLarge("from", f"More than {self.max_raw_traces} raw traces would be folded. {NARROW}")
        if self.max_raw_bytes is not None and size > self.max_raw_bytes:
            raise SliceTooLarge("from", f"More than {self.max_raw_bytes} bytes of traces would be folded. {NARROW}")

    def check_nodes(self, nodes: int) -> None:
        """Raises `SliceTooLarge` if a call tree has grown too large for memory."""
        if self.max_nodes is not None and nodes > self.max_nodes:
            raise SliceTooLarge("from", f"The call tree has more than {self.max_nodes} call nodes. {NARROW}")

    def check_funcs(self, funcs: int) -> None:
        """Raises `SliceTooLarge` if more functions were met than fit into memory."""
        if self.max_funcs is not None and funcs > self.max_funcs:
            raise SliceTooLarge("from", f"The raw traces have more than {self.max_funcs} functions. {NARROW}")


class SliceTooLarge(SliceError):
    """The slice is valid, but larger than this reading allows."""
