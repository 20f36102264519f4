"""Results remembered by a text that a stranger may have written: bounded in entries, and in characters of each."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

Text = TypeVar("Text", str, str | None)
Result = TypeVar("Result")


def cached(*, entries: int, chars: int) -> Callable[[Callable[[Text], Result]], Callable[[Text], Result]]:
    """Remembers a function's last `entries` results, of texts up to `chars` characters; of longer ones nothing.

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
