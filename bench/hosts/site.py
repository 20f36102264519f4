"""A whole Fieldflame on hosts: two webs, four workers, two beats, and each store on a host of its own."""

import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from celery import Celery
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from bench.hosts.balancer import WEB_PORT, Balancer
from bench.hosts.clocks import make_clocks
from bench.hosts.network import Network, Service
from bench.hosts.stores import (
    lay_out_postgres,
    make_pooled_url,
    make_url,
    start_bouncer,
    start_primary,
    start_standby,
    start_valkey,
)
from config.up.parts import BASE_DIR, READY_FILE_NAME, read_endpoint
from config.up.running import RunningStack

WEBS: Final = ("web1", "web2")
WORKERS: Final = ("worker1", "worker2", "worker3", "worker4")
BEATS: Final = ("beat1", "beat2")
START: Final = str(BASE_DIR / "deploy" / "start")
START_LIMIT_S: Final = 300.0
STOP_LIMIT_S: Final = 120.0
PING_S: Final = 2.0


class Site(RunningStack):
    """The parts by the name of their host. It is asked and changed as other stacks are, through its proxy."""

    def __init__(self, folder: Path, network: Network, settings: Mapping[str, str]) -> None:
        super().__init__(folder / "own", settings)
        self.root = folder
        self.network = network
        self.parts: dict[str, Service] = {}
        self._proxy: Balancer | None = None
        self._addresses: dict[str, str] = {}
        self._shared = {
            **self.environment,
            "FIELDFLAME_SECRET_KEY": secrets.token_urlsafe(40),
            "FIELDFLAME_TRANSACTION_POOLING": "1",
            "FIELDFLAME_ALLOWED_HOSTS": "*",
            "FIELDFLAME_HOST": "0.0.0.0",  # noqa: S104  # of a host on a network of its own
            "FIELDFLAME_PORT": str(WEB_PORT),
            "FIELDFLAME_WORKER_PROCESSES": settings.get("FIELDFLAME_WORKER_PROCESSES", "1"),
        }
        self._own: dict[str, Mapping[str, str]] = {}

    @property
    def store_environment(self) -> dict[str, str]:
        """The environment of commands, which ask PostgreSQL itself, from this process's host."""
        plain = {"FIELDFLAME_TRANSACTION_POOLING": "0", "DATABASE_URL": self._addresses["direct"]}
        return {**self._shared, **plain, "REDIS_URL": self._addresses["valkey"]}

    def start_stores(self, clocks: Mapping[str, Mapping[str, str]]) -> None:
        """Starts each store on its host. `clocks` has further variables by host."""
        add, programs = self.network.add, lay_out_postgres(self.root)
        database, replica, bouncer, valkey = add("db"), add("replica"), add("bouncer"), add("valkey")
        self.parts["db"] = start_primary(database, programs, clocks.get("db", {}))
        self.parts["replica"] = start_standby(replica, database, programs)
        self.parts["bouncer"] = start_bouncer(bouncer, database, self.root)
        self.parts["valkey"] = start_valkey(valkey, self.root, clocks.get("valkey", {}))
        self._addresses = {
            "direct": make_url(database),
            "pooled": make_pooled_url(bouncer),
            "replica": make_url(replica),
            "valkey": f"redis://{valkey.address}:6379/0",
        }

    def start_parts(self, clocks: Mapping[str, Mapping[str, str]]) -> None:
        """Starts all parts, and the proxy, and waits until they are ready."""
        self.manage("migrate", "--verbosity", "0")
        for name in (*WEBS, *WORKERS, *BEATS):
            self._own[name] = clocks.get(name, {})
            self.network.add(name)
            self.start_part(name)
        for name in (*WEBS, *WORKERS):
            self.wait_until_ready(name)
        folder = self.root / "proxy"
        folder.mkdir()
        self._proxy = Balancer(folder, [self.network.hosts[name] for name in WEBS])
        self._proxy.start()
        self.port = self._proxy.port
        self.url = f"http://127.0.0.1:{self.port}"

    def start_part(self, name: str) -> None:
        """Starts a part on its host, as a service manager does."""
        data = self.root / name
        data.mkdir(exist_ok=True)
        environment = {
            **self._shared,
            "DATABASE_URL": self._addresses["pooled"],
            "REDIS_URL": self._addresses["valkey"],
            "FIELDFLAME_DATA": str(data),
            READY_FILE_NAME: str(data / "ready"),
            **({"FIELDFLAME_REPLICA_URL": self._addresses["replica"]} if name in WEBS else {}),
            **self._own[name],
        }
        self.parts[name] = self.network.hosts[name].open("part", [START, name.rstrip("0123456789")], environment)

    def wait_until_ready(self, name: str) -> None:
        """Waits until a web server answers, or a worker listens. Raises `TimeoutError`."""
        deadline_s = time.monotonic() + START_LIMIT_S
        while not self._is_ready(name):
            if time.monotonic() > deadline_s or not self.parts[name].is_running():
                raise TimeoutError(f"{name} is not ready: {self.read_log(name)}")
            time.sleep(0.05)

    def _is_ready(self, name: str) -> bool:
        if name in WEBS:
            return read_endpoint(f"http://{self.network.hosts[name].address}:{WEB_PORT}/healthz", 2.0)[0] == 200
        return (self.root / name / "ready").exists()

    def is_whole(self, name: str) -> bool:
        """Tells whether a web server says that all parts answer."""
        return read_endpoint(f"http://{self.network.hosts[name].address}:{WEB_PORT}/readyz", 10.0)[0] == 200

    def count_tasks(self) -> dict[str, int]:
        """Returns how many tasks each worker that answers at once has taken since its start."""
        try:
            with Celery(broker=self._addresses["valkey"]) as app:
                stats = app.control.inspect(timeout=PING_S).stats() or {}
        except (KombuError, RedisError, OSError):
            return {}
        return {name: sum(each["total"].values()) for name, each in stats.items()}

    def read(self, slug: str, token: str, what: str) -> dict[str, Any]:
        """Returns a JSON answer of the read API, as soon as there is one."""
        deadline_s = time.monotonic() + START_LIMIT_S
        while True:
            try:
                return super().read(slug, token, what)
            except OSError:  # of a status of 503 too
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.5)

    def stop_part(self, name: str) -> float:
        """Stops a part as a service manager does; returns how many seconds that took."""
        return self.parts[name].stop(signal.SIGTERM, STOP_LIMIT_S)

    def read_log(self, name: str) -> str:
        """Returns the end of a part's log."""
        log = self.network.logs / f"{name}-part.log"
        return log.read_text(encoding="utf-8", errors="replace")[-3_000:]

    def end(self) -> None:
        """Ends everything at once."""
        if self._proxy is not None:
            self._proxy.stop()
        self.network.end()


@contextmanager
def run_site(
    settings: Mapping[str, str], *, skews_s: Mapping[str, float] | None = None, logs: Path | None = None
) -> Iterator[Site]:
    """Runs a site in a fresh folder, and in a network that this process joins for good.

    `skews_s` says by how much the clocks of hosts are ahead. The logs are copied to `logs` at the end.
    """
    folder = Path(tempfile.mkdtemp(prefix="fieldflame-hosts-"))
    folder.chmod(0o711)
    (folder / "logs").mkdir()
    network = Network(folder / "logs")
    site = Site(folder, network, settings)
    try:
        network.make()
        clocks = make_clocks(folder, skews_s or {})
        site.start_stores(clocks)
        site.start_parts(clocks)
        yield site
    finally:
        site.end()
        if logs is not None:
            shutil.copytree(folder / "logs", logs, dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
