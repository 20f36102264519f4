"""Funcs of two slices made one where they are the same function: a new release gives a script another name.

Without that, every function of a hashed bundle is one that went and one that came, and a difference says nothing.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from profcore.formats.slice import ExportFunc, SliceExport
from profcore.funcs import FuncKey
from profcore.identity import identity_of


def align_funcs(base: SliceExport, head: SliceExport) -> tuple[SliceExport, SliceExport]:
    """Returns both slices with one `ExportFunc` for what is one function: the head's, as far as it has it.

    Mapped, a function is the same if its original source and its label are, unless a side has several such in one
    script. Else it is the same if its identity across releases is (profcore/identity.py).
    """
    doubtful = _doubtful(base.funcs) | _doubtful(head.funcs)
    known: dict[Hashable, ExportFunc] = {}
    for func in (*head.funcs, *base.funcs):
        known.setdefault(_key(func, doubtful), func)
    aligned_base, aligned_head = (
        replace(side, funcs=[known[_key(func, doubtful)] for func in side.funcs]) for side in (base, head)
    )
    return aligned_base, aligned_head


def _name(func: ExportFunc) -> Hashable | None:
    """Returns what a mapped func is known by; None for one that is not mapped."""
    return None if func.original is None else (func.original.source, func.label)


def _doubtful(funcs: Sequence[ExportFunc]) -> set[Hashable]:
    """Returns the names that several funcs of one script have: methods of two classes, say."""
    counts = Counter((_name(func), func.uri) for func in set(funcs))
    return {name for (name, _), count in counts.items() if count > 1}


def _key(func: ExportFunc, doubtful: set[Hashable]) -> Hashable:
    name = _name(func)
    if name is not None and name not in doubtful:
        return name
    return identity_of(FuncKey(func.uri, func.line, func.column, func.name))
