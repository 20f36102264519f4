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

    Where its identity is told, that decides. Else a mapped function is the same if its original source and its label
    are, unless a side has several such in one script; others are by script, name and position (profcore/identity.py).
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
    """Returns slices with one `ExportFunc` for what their identities say is one function: the first that has it."""
    known: dict[str, ExportFunc] = {}
    return [
        replace(each, funcs=[known.setdefault(func.identity, func) if func.identity else func for func in each.funcs])
        for each in exports
    ]


def _name(func: ExportFunc) -> Hashable | None:
    """Returns what a mapped func is known by; None for one that is not mapped."""
    return None if func.original is None else (func.original.source, func.label)


def _doubtful(funcs: Sequence[ExportFunc]) -> set[Hashable]:
    """Returns the names that several funcs of one script have: methods of two classes, say."""
    counts = Counter((_name(func), func.uri) for func in set(funcs))
    return {name for (name, _), count in counts.items() if count > 1}


def _key(func: ExportFunc, doubtful: set[Hashable]) -> Hashable:
    if func.identity is not None:
        return func.identity
    name = _name(func)
    if name is not None and name not in doubtful:
        return name
    return identity_of(FuncKey(func.uri, func.line, func.column, func.name))
