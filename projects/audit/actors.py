"""Who acts: set once where a request or a command begins, and asked only if something is written to the log."""

import getpass
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class ActorKind(StrEnum):
    """How someone acted."""

    USER = "user"  # in the dashboard, or by the read API with a session
    TOKEN = "token"  # noqa: S105  # by a token of the API
    COMMAND = "command"  # on the server's command line
    PROVIDER = "provider"  # by the groups that a login's provider named
    SERVER = "server"  # a worker, by itself


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts. `name` is a user's name, a token's prefix, or a command with the system's account that gave it.

    `network` stands for the address: a keyed hash, from which the address cannot be found without the server's secret.
    """

    kind: ActorKind
    id: int | None = None
    name: str = ""
    network: str = ""


SERVER: Final = Actor(ActorKind.SERVER)
_actor: ContextVar[Callable[[], Actor]] = ContextVar("actor", default=lambda: SERVER)


def current_actor() -> Actor:
    """Returns who acts; the server itself if no one was named."""
    return _actor.get()()


@contextmanager
def acting_as(actor: Callable[[], Actor]) -> Iterator[None]:
    """Names who acts in the block, by a function that is called only if it matters."""
    before = _actor.set(actor)
    try:
        yield
    finally:
        _actor.reset(before)


def act_as_command(name: str) -> None:
    """Names a command as the actor, until this process ends."""
    _actor.set(lambda: Actor(ActorKind.COMMAND, name=f"{name} by {_system_account()}"[:150]))


def _system_account() -> str:
    try:
        account = getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        account = f"uid {os.getuid()}"
    behind = os.environ.get("SUDO_USER")
    return f"{account} for {behind}" if behind and behind != account else account
