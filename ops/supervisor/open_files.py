"""The number of files that a server may open: each connection is one."""

import resource
from collections.abc import Callable

from ops.supervisor.messages import StartError

OTHER_FILES = 512  # of a web process besides its connections: modules, pools, logs, counts


def allow_connections(count: int, name: str) -> Callable[[], None]:
    """Returns what a child runs before it starts, so that it can keep this many connections.

    Raises StartError if this user may not open this many files; `name` is the setting to lower.
    """
    needed = count + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise StartError(
            f"{name} is {count}, but a process here may open only {hard} files: "
            f"lower it to {max(hard - OTHER_FILES, 1)}, or raise the limit (ulimit -Hn)."
        )

    def enter() -> None:
        if soft != resource.RLIM_INFINITY and soft < needed:
            resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))

    return enter
