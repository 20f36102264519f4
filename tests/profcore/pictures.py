"""Traces and trees as text, so that a test shows its input and its result.

A  A  -  A        four samples, one unit of time apart; a column is a stack, its root on top, `-` no stack
B  B     C
   C
"""

from collections.abc import Sequence
from textwrap import dedent
from typing import Any, Final

from profcore.sums.calltree import CallTree, CallTreeBuilder, picture
from profcore.sums.fold import FuncSums, TraceFold, fold_trace
from profcore.trace.funcs import FuncTable
from profcore.trace.wire import Envelope, Limits, decode_envelope
from tests.envelopes import make_envelope
from tests.profcore.trace.wire.refusals import body_of

TICK_MS: Final = 0.001  # one sample weighs one µs: the numbers of a picture are the samples one counts in it


def stacks_in(columns: str) -> list[list[str]]:
    """Returns the stacks of a picture, root first; a word belongs to the word of the first line above it."""
    first, *deeper = [line for line in dedent(columns).splitlines() if line.strip()]
    starts = _starts(first)
    stacks: list[list[str]] = [[] if word == "-" else [word] for word in first.split()]
    for line in deeper:
        for start, word in zip(_starts(line), line.split(), strict=True):
            stacks[starts.index(start)].append(word)
    return stacks


def _starts(line: str) -> list[int]:
    return [at for at, char in enumerate(line) if char != " " and (at == 0 or line[at - 1] == " ")]


def envelope_of(columns: str, *, view: str = "a", tick_ms: float = TICK_MS, **fields: Any) -> Envelope:
    """Returns a picture's trace as ingest would pass it on. `fields` are the wire's own JSON."""
    rows = "\n".join(" ".join(stack) or "-" for stack in stacks_in(columns))
    envelope = make_envelope(view, rows, sampleInterval=tick_ms, **fields)
    for frame in envelope["trace"]["frames"]:
        frame["line"] = frame["column"] = 1  # a name is one func in every picture
    for position, sample in enumerate(envelope["trace"]["samples"]):
        sample["timestamp"] = position * tick_ms
    return decode_envelope(body_of(envelope), Limits())


def fold_of(columns: str, funcs: FuncTable, **fields: Any) -> TraceFold:
    """Folds a picture; its funcs are interned into `funcs`."""
    return fold_trace(envelope_of(columns, **fields), page="/cart", funcs=funcs)


def tree_of(columns: str, funcs: FuncTable) -> CallTree:
    """Returns the call tree of a picture."""
    return tree_of_fold(fold_of(columns, funcs))


def tree_of_fold(fold: TraceFold) -> CallTree:
    """Returns the call tree of one folded trace."""
    builder = CallTreeBuilder()
    builder.add_stacks(fold.prefix, fold.func, fold.stack_us, fold.stack_samples, fold.stack_hidden_us)
    return builder.tree


def names_of(funcs: FuncTable) -> list[str]:
    """Returns the names of interned funcs, by index."""
    return [key.name for key in funcs.keys]


def drawn(columns: str) -> list[str]:
    """Returns a picture's call tree as lines of text."""
    funcs = FuncTable()
    return picture(tree_of(columns, funcs), names_of(funcs)).splitlines()


def sums_by_name(sums: FuncSums, names: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Returns (total, self) in µs by name."""
    return {names[index]: (total, sums.self_us.get(index, 0)) for index, total in sums.total_us.items()}


def by_path(tree: CallTree) -> dict[tuple[int, ...], tuple[int, int, int]]:
    """Returns (self µs, self samples, hidden µs) by call path, root first, so that a tree's order does not matter."""
    paths: list[tuple[int, ...]] = []
    for node, prefix in enumerate(tree.prefix):
        paths.append(((*paths[prefix],) if prefix >= 0 else ()) + (tree.func[node],))
    columns = zip(tree.self_us, tree.self_samples, tree.hidden_us, strict=True)
    return dict(zip(paths, columns, strict=True))
