"""The context of one read: what several of its parts ask for is selected once.

A request's handler opens one. Outside of a context, as in workers, each call selects anew.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_ANSWERS: Final[ContextVar[dict[Hashable, Any] | None]] = ContextVar("answers of this read", default=None)


@contextmanager
def read_context() -> Iterator[None]:
    """Opens a context, empty also within another one: a read that is repeated elsewhere begins anew."""
    token = _ANSWERS.set({})
    try:
        yield
    finally:
        _ANSWERS.reset(token)


def keep_answer(select: Callable[..., T], answer: T, *args: Hashable) -> None:
    """Keeps what another statement has selected as the answer of a selector to these arguments."""
    if (answers := _ANSWERS.get()) is not None:
        answers[select, args, ()] = answer


def once_a_read(select: Callable[P, T]) -> Callable[P, T]:
    """Makes a selector answer equal calls within a context by the first answer, which must not be changed.

    Its arguments must be hashable.
    """

    @wraps(select)
    def answer(*args: P.args, **kwargs: P.kwargs) -> T:
        answers = _ANSWERS.get()
        if answers is None:
            return select(*args, **kwargs)
        key = answer, args, tuple(sorted(kwargs.items()))
        if key not in answers:
            answers[key] = select(*args, **kwargs)
        kept: T = answers[key]
        return kept

    return answer
