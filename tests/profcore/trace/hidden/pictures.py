"""Hidden time as pictures: columns of stacks in, the attribution of samples without a stack out."""

from profcore.sums.fold import TraceFold
from profcore.trace.funcs import FuncTable
from tests.profcore.pictures import by_path, fold_of, names_of, tree_of_fold

TICK_MS = 1.0


def task(first: int, last: int) -> dict[str, object]:
    """Returns the mark of a long task that holds the samples `first` to `last` of a picture, no others."""
    return {"type": "longtask", "start": first * TICK_MS, "duration": (last - first + 1) * TICK_MS}


def given_to(columns: str, *marks: dict[str, object]) -> dict[str, int]:
    """Returns the hidden samples by call path (`A > B`); `A?` has those uncertain of a func, `?` those without one.

    `engine` has those that are the engine's.
    """
    funcs = FuncTable()
    return given_by_path(fold_of(columns, funcs, tick_ms=TICK_MS, marks=list(marks)), funcs)


def given_by_path(fold: TraceFold, funcs: FuncTable) -> dict[str, int]:
    """Returns a fold's hidden samples of one tick by call path."""
    names = names_of(funcs)
    times = {
        " > ".join(names[func] for func in path): hidden // 1000
        for path, (_, _, hidden) in by_path(tree_of_fold(fold)).items()
        if hidden
    }
    times |= {f"{names[func]}?": us // 1000 for func, us in fold.sums.uncertain_us.items()}
    nobodys = fold.parts.hidden_us // 1000 - sum(times.values())
    rest = {"?": nobodys, "engine": fold.parts.engine_us // 1000}
    return times | {word: count for word, count in rest.items() if count}
