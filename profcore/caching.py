"""What a process keeps: results by a text that a stranger may have written, and caches that are emptied together."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, Protocol, TypeVar, runtime_checkable

Text = TypeVar("Text", str, str | None)
Result = TypeVar("Result")


def cached(*, entries: int, chars: int) -> Callable[[Callable[[Text], Result]], Callable[[Text], Result]]:
    """Caches a function's last `entries` results, of texts up to `chars` characters; of longer ones nothing.

    `functools.lru_cache` bounds the entries only: 10,000 URIs of 64 kB each would be 640 MB in every process.
    """

    def decorate(function: Callable[[Text], Result]) -> Callable[[Text], Result]:
        cached = lru_cache(maxsize=entries)(function)

        @wraps(function)
        def answer(text: Text) -> Result:
            if text is not None and len(text) > chars:
                return function(text)
            return cached(text)

        return answer

    return decorate


class Clearable(Protocol):
    """A dict, a set, or another value that can be emptied."""

    def clear(self) -> object: ...


@runtime_checkable
class CachedFunction(Protocol):
    """A function of `functools.cache` or `functools.lru_cache`."""

    def cache_clear(self) -> object: ...


Kept = TypeVar("Kept", bound=Clearable | CachedFunction)
_clears: Final[list[Callable[[], object]]] = []


def keep(cache: Kept) -> Kept:
    """Returns a cache of this process, of the database or of settings. `clear_caches` empties it with all others."""
    _clears.append(cache.cache_clear if isinstance(cache, CachedFunction) else cache.clear)
    return cache


def clear_caches() -> None:
    """Empties all that `keep` was given. Each test has a database and settings of its own."""
    for clear in _clears:
        clear()
