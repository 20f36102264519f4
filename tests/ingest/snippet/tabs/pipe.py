"""A Chromium with real tabs, spoken to by the DevTools protocol over a pipe.

Browser test libraries start Chromium so that all its tabs count as visible. Without their flags, a tab behind another
one is hidden, and may be frozen.
"""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final

from tests.e2e.browser import find_chromium
from tests.ingest.snippet.site import WAIT_S

# The browser reads from descriptor 3 and writes to 4.
EXEC: Final = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
Reply = dict[str, Any]  # Any: what the protocol answers


class Chromium:
    """One browser process. Raises `TimeoutError` if it does not answer."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to = to_browser
        self._from = from_browser
        self._ids = count(1)
        self._left = b""

    def send(self, method: str, session: str | None = None, **params: object) -> Reply:
        """Sends a command and returns its result."""
        number = next(self._ids)
        command: dict[str, object] = {"id": number, "method": method, "params": params}
        if session is not None:
            command["sessionId"] = session
        os.write(self._to, json.dumps(command).encode() + b"\0")
        while True:
            reply = self._receive()
            if reply.get("id") == number:
                assert "error" not in reply, reply
                result: Reply = reply["result"]
                return result

    def _receive(self) -> Reply:
        deadline = time.monotonic() + WAIT_S
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._from], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError("Chromium does not answer")
            more = os.read(self._from, 1 << 16)
            assert more, "Chromium has ended"
            self._left += more
        message, _, self._left = self._left.partition(b"\0")
        reply: Reply = json.loads(message)
        return reply

    def open_tab(self, url: str) -> "Tab":
        """Opens a tab in front of all others."""
        target = self.send("Target.createTarget", url=url)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Tab(self, target, session)


class Tab:
    """A tab of a browser."""

    def __init__(self, browser: Chromium, target: str, session: str) -> None:
        self._browser = browser
        self._target = target
        self._session = session

    def send(self, method: str, **params: object) -> Reply:
        """Sends a command to the tab and returns its result."""
        return self._browser.send(method, self._session, **params)

    def evaluate(self, expression: str) -> object:
        """Returns the value of an expression."""
        result = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        value: object = result["result"].get("value")
        return value

    def close(self) -> None:
        """Closes the tab. Another one is seen then."""
        self._browser.send("Target.closeTarget", targetId=self._target)


@contextmanager
def start_chromium(folder: Path) -> Iterator[Chromium]:
    """Starts a browser whose profile lies in a folder, and ends it."""
    (to_read, to_write), (from_read, from_write) = os.pipe(), os.pipe()
    flags = ["--headless=new", "--no-sandbox", "--no-first-run", "--remote-debugging-pipe"]
    flags.append(f"--user-data-dir={folder}")
    process = subprocess.Popen(
        [sys.executable, "-c", EXEC, str(to_read), str(from_write), find_chromium(), *flags, "about:blank"],
        pass_fds=(to_read, from_write),
        stderr=subprocess.DEVNULL,
    )
    os.close(to_read)
    os.close(from_write)
    try:
        yield Chromium(to_write, from_read)
    finally:
        process.kill()
        process.wait()
        os.close(to_write)
        os.close(from_read)
