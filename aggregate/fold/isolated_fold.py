"""Folding one trace in a process of its own: `python -m aggregate.fold.isolated_fold`, body on stdin, result on stdout.

A trace that crashes, hangs or eats memory takes only this process with it. Imports no framework, so it starts fast.
It folds by the pure twin only: if a fault of the compiled kernel crashed the worker, the trace is folded all the same.
"""

import resource
import sys
from typing import Final

import msgspec

from profcore.errors import Reason, TraceError
from profcore.sums.fold import TraceFold, fold_trace
from profcore.trace.funcs import FuncKey, FuncTable
from profcore.trace.wire import Limits, decode_envelope


class AloneTask(msgspec.Struct, kw_only=True):
    """The input of the child: the expanded body, the page, the limits."""

    body: bytes
    page: str
    limits: Limits
    memory_bytes: int
    cpu_s: int


class AloneResult(msgspec.Struct):
    """The answer of the child: the fold with its func keys, or why the trace is rejected."""

    keys: list[tuple[str | None, int | None, int | None, str]] = []
    fold: TraceFold | None = None
    refusal: tuple[Reason, str, str] | None = None


task_decoder: Final = msgspec.msgpack.Decoder(AloneTask)
result_decoder: Final = msgspec.msgpack.Decoder(AloneResult)


def fold_alone(task: AloneTask) -> AloneResult:
    """Returns one body folded, or why it is rejected."""
    funcs = FuncTable()
    try:
        envelope = decode_envelope(task.body, task.limits)
    except TraceError as error:
        return AloneResult(refusal=(error.reason, error.path, error.detail))
    fold = fold_trace(envelope, page=task.page, funcs=funcs)
    return AloneResult(keys=[(key.uri, key.line, key.column, key.name) for key in funcs.keys], fold=fold)


def keys_of(result: AloneResult) -> list[FuncKey]:
    """Returns the func keys of a result, in index order."""
    return [FuncKey(uri, line, column, name) for uri, line, column, name in result.keys]


def main() -> None:
    task = task_decoder.decode(sys.stdin.buffer.read())
    resource.setrlimit(resource.RLIMIT_AS, (task.memory_bytes, task.memory_bytes))
    resource.setrlimit(resource.RLIMIT_CPU, (task.cpu_s, task.cpu_s + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.stdout.buffer.write(msgspec.msgpack.encode(fold_alone(task)))


if __name__ == "__main__":
    main()
