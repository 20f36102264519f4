"""What takes long to start is lent to several test files of a process, one after the other.

Files that borrow the same thing have to run in the same process: `tests.runner.scheduling` sees to it.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Final, Generic, TypeVar

import pytest

T = TypeVar("T")


class Lender(Generic[T]):
    """Opens something for the first file that borrows it by a fixture, and closes it behind the last one."""

    opened: Final[list["Lender[object]"]] = []  # of all lenders: a run that ends early closes them at its end

    def __init__(self, open_it: Callable[[], AbstractContextManager[T]]) -> None:
        self.open_it = open_it
        self.closing = ExitStack()
        self.lent: list[T] = []
        self.borrowers: set[Path] = set()

    def lend(self, request: pytest.FixtureRequest) -> Iterator[T]:
        """Yields it; to be the body of a fixture of a module."""
        if not self.lent:
            self.lent.append(self.closing.enter_context(self.open_it()))
            Lender.opened.append(self)  # type: ignore[arg-type]  # it is only closed there
        yield self.lent[0]
        self.borrowers.add(request.path)
        wanted = {
            item.path for item in request.session.items if request.fixturename in getattr(item, "fixturenames", ())
        }
        if wanted <= self.borrowers:
            self.close()

    def close(self) -> None:
        self.lent.clear()
        self.borrowers.clear()
        self.closing.close()


def close_all() -> None:
    """Closes whatever is still lent."""
    while Lender.opened:
        Lender.opened.pop().close()
