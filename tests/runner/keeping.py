"""Rows that all tests of a module read: made once, in a transaction around theirs, and gone behind the last one."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from django.db import transaction
from pytest_django import DjangoDbBlocker

from tests.runner.caches import clear_caches

T = TypeVar("T")


def keep(blocker: DjangoDbBlocker, make: Callable[[], T]) -> Iterator[T]:
    """Makes rows and yields what `make` returns; to be the body of a fixture of a module.

    What a test changes is taken back with its own transaction. Every test of the module sees these rows, also one that
    does not ask for them, and none of them may commit.
    """
    whole = transaction.atomic()
    with blocker.unblock():
        whole.__enter__()
        clear_caches()  # before each test too, but fixtures of a module come first: a key may be another project's
        try:
            made = make()
        except BaseException:
            _take_back(whole)  # else all later tests of this process would run in this transaction
            raise
    yield made
    with blocker.unblock():
        _take_back(whole)


def _take_back(whole: transaction.Atomic) -> None:
    transaction.set_rollback(True)
    whole.__exit__(None, None, None)
