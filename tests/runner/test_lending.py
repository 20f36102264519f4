"""What is lent to several files is opened once, and closed behind the last one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.runner.lending import Lender, close_all

A, B = Path("test_a.py"), Path("test_b.py")


def ask(path: Path, *wanted: Path) -> Any:  # Any: as much of a fixture's request as is needed
    items = [SimpleNamespace(path=path, fixturenames=["thing"]) for path in wanted]
    items.append(SimpleNamespace(path=Path("test_other.py"), fixturenames=[]))
    return SimpleNamespace(path=path, fixturename="thing", session=SimpleNamespace(items=items))


def make_lender(events: list[str]) -> Lender[int]:
    @contextmanager
    def open_thing() -> Iterator[int]:
        events.append("opened")
        yield 7
        events.append("closed")

    return Lender(open_thing)


def test_it_is_closed_behind_the_last_file_that_borrows_it() -> None:
    events: list[str] = []
    lender = make_lender(events)
    assert list(lender.lend(ask(A, A, B))) == [7]
    assert events == ["opened"]
    assert list(lender.lend(ask(B, A, B))) == [7]
    assert events == ["opened", "closed"]


def test_it_can_be_opened_again() -> None:
    events: list[str] = []
    lender = make_lender(events)
    for _ in range(2):
        assert list(lender.lend(ask(A, A))) == [7]
    assert events == ["opened", "closed"] * 2


def test_what_is_still_lent_is_closed_at_the_end_of_the_run() -> None:
    events: list[str] = []
    lender = make_lender(events)
    assert list(lender.lend(ask(A, A, B))) == [7]
    close_all()
    assert events == ["opened", "closed"]
    close_all()
    assert events == ["opened", "closed"]
