"""Coroutines in tests: in the main thread, Playwright keeps an event loop once a browser was used."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_coroutine(coroutine: Coroutine[Any, Any, Result]) -> Result:  # Any: what nobody sends to it
    """Runs a coroutine in a thread of its own, and returns its result."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, coroutine).result()
