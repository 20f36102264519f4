"""PostgreSQL and Valkey for tests: real ones, in a fresh folder under the system's temporary one, gone at the end.

`python -m tests` starts them for the whole suite; a test that kills servers starts its own.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ops.supervisor.children import Child
from ops.supervisor.folder import DataFolder
from ops.supervisor.services import make_environment
from ops.supervisor.supervisor import Supervisor

STORE_NAMES = ("DATABASE_URL", "REDIS_URL")


class Stores:
    """Running throw-away servers. They are kept running where `supervise` is called in between."""

    def __init__(self, supervisor: Supervisor, addresses: dict[str, str]) -> None:
        self.supervisor = supervisor
        self.addresses = addresses

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which Fieldflame's commands and processes use these servers."""
        folder = self.supervisor.folder
        return make_environment(folder, host="127.0.0.1", port=0, extra=self.addresses)

    def child(self, name: str) -> Child:
        """Returns the server called `postgres` or `valkey`."""
        return next(child for child in self.supervisor.children if child.name == name)

    def supervise(self) -> None:
        """Starts again what has died, once its back-off is over; to be called while a test waits."""
        self.supervisor.tick()

    def revive(self, name: str, limit_s: float = 120.0) -> None:
        """Supervises until the server called `name` runs again. Raises TimeoutError."""
        deadline = time.monotonic() + limit_s
        while not self.child(name).is_running():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name} did not come back within {limit_s} s")
            self.supervise()
            time.sleep(0.05)


@contextmanager
def run_stores(*, is_throw_away: bool = True) -> Iterator[Stores]:
    """Runs servers of one's own. `is_throw_away=False` keeps every write durable, as a real deployment does."""
    path = Path(tempfile.mkdtemp(prefix="fieldflame-test-"))
    supervisor = Supervisor(DataFolder(path.resolve()), holder="test")
    supervisor.is_quiet = True
    environment = {name: value for name, value in os.environ.items() if name not in STORE_NAMES}
    try:
        supervisor.folder.create()
        supervisor.take_folder()
        addresses = supervisor.start_stores(environment, is_throw_away=is_throw_away)
        yield Stores(supervisor, addresses)
    finally:
        supervisor.stop()
        shutil.rmtree(path, ignore_errors=True)
