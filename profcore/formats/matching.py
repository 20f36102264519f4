"""Matching of funcs that are the same function in two slices, since a new release gives a script another name.

Without it, every function of a hashed bundle is one removed and one new function, and a difference is useless.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from profcore.code.identity import identity_of
from profcore.formats.slice import ExportFunc, SliceExport
from profcore.trace.funcs import FuncKey


def align_funcs(base: SliceExport, head: SliceExport) -> tuple[SliceExport, SliceExport]:
    """Returns both slices with one `ExportFunc` per function: the head's, if the head has it.

    The identity decides if it is known. Else a mapped function is the same if its original source and its label are
    equal, unless a side has several of these in one script. Others are the same if script, name and position are
    (profcore/code/identity.py).
    """
    doubtful = _doubtful(base.funcs) | _doubtful(head.funcs)
    known: dict[Hashable, ExportFunc] = {}
    for func in (*head.funcs, *base.funcs):
        known.setdefault(_key(func, doubtful), func)
    aligned_base, aligned_head = (
        replace(side, funcs=[known[_key(func, doubtful)] for func in side.funcs]) for side in (base, head)
    )
    return aligned_base, aligned_head


def share_funcs(exports: Sequence[SliceExport]) -> list[SliceExport]:
    """Returns slices with one `ExportFunc` per identity: that of the first slice that has it."""
    known: dict[str, ExportFunc] = {}
    return [
        replace(part, funcs=[known.setdefault(func.identity, func) if func.identity else func for func in part.funcs])
        for part in exports
    ]


def _name(func: ExportFunc) -> Hashable | None:
    """Returns the key of a mapped func; None if it is not mapped."""
    return None if func.original is None else (func.original.source, func.label)


def _doubtful(funcs: Sequence[ExportFunc]) -> set[Hashable]:
    """Returns the keys that several funcs of one script share, for example methods of two classes."""
    counts = Counter((_name(func), func.uri) for func in set(funcs))
    return {name for (name, _), count in counts.items() if count > 1}


def _key(func: ExportFunc, doubtful: set[Hashable]) -> Hashable:
    if func.identity is not None:
        return func.identity
    name = _name(func)
    if name is not None and name not in doubtful:
        return name
    return identity_of(FuncKey(func.uri, func.line, func.column, func.name))
