"""A posted body as the compiled kernel checks it: without a value per sample, and without the interpreter's lock."""

from types import ModuleType
from typing import Final

from profcore.errors import TraceError
from profcore.trace.wire import UNREADABLE, Envelope, Limits, Trace, check_envelope, check_posted, envelope_decoder

NO_TRACE: Final = Trace([], [], [], [])


class CompiledCheck:
    """The checks of one posted envelope, under one set of limits."""

    def __init__(self, kernel: ModuleType, limits: Limits, *, max_bytes: int) -> None:
        """`max_bytes` bounds the expanded body."""
        self._limits = limits
        self._endpoint = kernel.Endpoint(limits, max_bytes)

    def check(self, sent: bytes) -> tuple[Envelope, int] | None:
        """Returns the envelope of a body, gzip or not, without its trace and marks, and the bytes of the expanded body.

        The values are those of `decode_envelope`. None if the body is not one envelope that is plainly right, or is
        larger than the bound: then the pure path decodes it, and says what is wrong, if anything is.
        """
        if (checked := self._endpoint.check(sent)) is None:
            return None
        head, size = checked
        try:
            envelope = envelope_decoder.decode(head)
            check_envelope(envelope, self._limits)
            check_posted(envelope)
        except (TraceError, *UNREADABLE):
            return None
        envelope.trace = NO_TRACE
        return envelope, size
