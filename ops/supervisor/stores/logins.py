"""Who may log in to the PostgreSQL of `./run`: the user that runs Fieldflame, and root. The kernel says who asks.

No one has a password, and no one else is trusted: where root lets PostgreSQL run as `nobody`, other processes of
`nobody` may enter its socket's folder.
"""

import os
from pathlib import Path

from ops.supervisor.folder import write_private
from ops.supervisor.stores.access import RunAs

MAP = "fieldflame"
MARK = "# Written by ./run at each start. To keep a file of your own, delete this line."


def renew_logins(data: Path, run_as: RunAs, user: str) -> None:
    """Writes the rules again, for this start's users. Files that someone has changed are left alone."""
    rules, names = data / "pg_hba.conf", data / "pg_ident.conf"
    if all(is_ours(path) or not read_lines(path) for path in (rules, names)):
        write_logins(data, run_as, user)


def write_logins(data: Path, run_as: RunAs, user: str) -> None:
    """Writes the rules of a data folder."""
    allowed = "".join(f"{MAP} {quote_name(name)} {user}\n" for name in sorted({run_as.seen_as, "root"}))
    write_for(data / "pg_ident.conf", run_as, f"{MARK}\n{allowed}")
    rules = f"local all all peer map={MAP}\nlocal replication all peer map={MAP}\n"
    write_for(data / "pg_hba.conf", run_as, f"{MARK}\n{rules}")


def read_lines(path: Path) -> list[tuple[str, ...]]:
    """Returns the words of each line of a configuration, without comments; none if there is no such file."""
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return [tuple(fields) for line in lines if (fields := line.partition("#")[0].split())]


def is_ours(path: Path) -> bool:
    return path.exists() and path.read_text(encoding="utf-8", errors="replace").startswith(f"{MARK}\n")


def quote_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def write_for(path: Path, run_as: RunAs, text: str) -> None:
    write_private(path, text)
    if os.geteuid() == 0:
        os.chown(path, run_as.uid, run_as.gid)
