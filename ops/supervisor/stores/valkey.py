"""Valkey as a child: on a Unix socket, with a log of writes, without eviction."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import redis

from ops.supervisor.children import Child
from ops.supervisor.folder import DataFolder, make_private_folder
from ops.supervisor.messages import StartError, read_log_end
from ops.supervisor.stores.binaries import find_valkey


@dataclass(frozen=True, slots=True)
class Valkey:
    program: Path
    data: Path
    socket: Path
    log: Path

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"


def set_up_valkey(folder: DataFolder, uid: int, gid: int) -> Valkey:
    """Finds the program and creates its folders. Raises StartError if there is no program."""
    sockets = folder.socket_folder("valkey")
    make_private_folder(sockets, uid, gid)
    make_private_folder(folder.valkey, uid, gid)
    return Valkey(
        program=find_valkey(), data=folder.valkey, socket=sockets / "valkey.sock", log=folder.logs / "valkey.log"
    )


def make_valkey_child(valkey: Valkey, environment: Mapping[str, str]) -> Child:
    command = [str(valkey.program), "--port", "0", "--unixsocket", str(valkey.socket), "--unixsocketperm", "700"]
    command += ["--dir", str(valkey.data), "--appendonly", "yes", "--save", ""]
    command += ["--maxmemory-policy", "noeviction", "--daemonize", "no"]
    return Child(
        name="valkey",
        title="Valkey",
        command=command,
        environment=environment,
        log=valkey.log,
        cwd=valkey.data,
    )


def wait_for_valkey(valkey: Valkey, child: Child, tick: Callable[[], None]) -> None:
    """Waits until the server answers. Raises StartError if it ends, or if `tick` does."""
    while not is_answering(valkey.url):
        if not child.is_running():
            raise StartError(f"Valkey did not start; the end of {valkey.log}:{read_log_end(valkey.log)}")
        tick()
        time.sleep(0.05)


def is_answering(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=2, socket_timeout=2) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def check_valkey_url(url: str) -> None:
    """Connects to the server that REDIS_URL names. Raises StartError with one sentence."""
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5) as client:
            client.ping()
    except (redis.RedisError, ValueError, OSError) as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise StartError(f"The Valkey or Redis server that REDIS_URL names cannot be used: {lines[0]}") from None
