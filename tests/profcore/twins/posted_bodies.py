"""A posted body, checked by both twins: the compiled one must not accept what the pure one refuses."""

from functools import cache

import msgspec

from profcore.errors import TraceError
from profcore.inflating import InflateError, inflate
from profcore.kernel import find_kernel
from profcore.trace.posted import NO_TRACE, CompiledCheck
from profcore.trace.wire import Envelope, Limits, check_posted, decode_envelope

MAX_BYTES = 4 * 2**20
GZIP_WINDOW = 31
MAX_MEMBERS = 1_000


@cache
def make_check(limits: Limits, max_bytes: int) -> CompiledCheck | None:
    """Returns the compiled check; None where the kernel is not built."""
    kernel = find_kernel().module
    return CompiledCheck(kernel, limits, max_bytes=max_bytes) if kernel else None


def check_pure(sent: bytes, limits: Limits, max_bytes: int) -> tuple[Envelope, int] | None:
    """Returns what the compiled check returns, as the endpoint finds it without one."""
    body = sent
    try:
        if sent[:2] == b"\x1f\x8b":
            body = inflate(sent, window=GZIP_WINDOW, max_bytes=max_bytes, max_members=MAX_MEMBERS)
        envelope = decode_envelope(body, limits)
        check_posted(envelope)
    except (InflateError, TraceError):
        return None
    envelope.trace = NO_TRACE
    envelope.marks = []
    return (envelope, len(body)) if len(body) <= max_bytes else None


def compare(sent: bytes, limits: Limits | None = None, *, max_bytes: int = MAX_BYTES) -> bool:
    """Checks that both twins agree; tells whether the compiled one accepted, which also means that the pure one does.

    The compiled one may leave to the pure one what that accepts.
    """
    limits = limits or Limits()
    check = make_check(limits, max_bytes)
    checked = check.check(sent) if check else None
    if checked is None:
        return False
    pure = check_pure(sent, limits, max_bytes)
    assert pure is not None, f"only the compiled twin accepts {sent[:2_000]!r}"
    assert checked == pure
    assert msgspec.json.encode(checked[0]) == msgspec.json.encode(pure[0])  # 1 and 1.0 are equal, and differ here
    return True
