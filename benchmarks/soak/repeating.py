"""Work that goes on next to the posts, each in a thread of its own."""

import threading
from collections.abc import Callable


class Repeated:
    """A thread that does its work again after each pause, until it is stopped."""

    def __init__(self, work: Callable[[], None], pause_s: float) -> None:
        self._work = work
        self._pause_s = pause_s
        self._fault: BaseException | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._repeat, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread, and raises what went wrong."""
        self._is_over.set()
        self._thread.join()
        if self._fault is not None:
            raise self._fault

    def _repeat(self) -> None:
        try:
            while not self._is_over.wait(self._pause_s):
                self._work()
        except BaseException as error:  # told by the thread that stops this one
            self._fault = error
