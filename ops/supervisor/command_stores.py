"""Commands other than `up`: they use the running servers, or start them for as long as the command takes."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ops.supervisor.environment import apply_environment, read_environment
from ops.supervisor.folder import DataFolder
from ops.supervisor.messages import StartError, complain
from ops.supervisor.services import BASE_DIR, make_environment, make_manage_command
from ops.supervisor.supervisor import StopRequested, Supervisor

# These commands need no database, or start it themselves.
COMMANDS_WITHOUT_STORES = frozenset(
    {
        "",
        "check",
        "collectstatic",
        "compilemessages",
        "diffsettings",
        "findstatic",
        "help",
        "makemessages",
        "makemigrations",
        "runserver",
        "send_traces",
        "startapp",
        "startproject",
        "up",
        "version",
    }
)
# These look at the database as it is: one of an older version is not changed by them.
COMMANDS_WITHOUT_MIGRATION = frozenset({"backup", "migrate", "restore", "showmigrations"})
PUBLISH_LIMIT_S = 120.0  # how long a command waits for an `up` that is still starting its stores


def read_data_folder(environ: Mapping[str, str]) -> DataFolder:
    return DataFolder(Path(environ.get("FIELDFLAME_DATA") or BASE_DIR / "var").expanduser().resolve())


def needs_stores(arguments: Sequence[str]) -> bool:
    command = arguments[1] if len(arguments) > 1 else ""
    is_asking = any(word in ("-h", "--help", "--version") for word in arguments[1:])
    return command not in COMMANDS_WITHOUT_STORES and not command.startswith("-") and not is_asking


def run_with_stores(arguments: Sequence[str]) -> int | None:
    """Lets a command find its database before Django reads its settings.

    Returns None if the caller should run the command: it needs no servers, or the environment names them. If no servers
    run, starts them, runs the command in a process of its own, stops them, and returns its exit code.
    """
    folder = read_data_folder(os.environ)
    if os.environ.get("DATABASE_URL") or not needs_stores(arguments):
        if len(arguments) > 1 and arguments[1] == "send_traces":
            apply_environment(read_environment(folder))
        return None
    supervisor = Supervisor(folder, holder="command")
    try:
        folder.create()
        deadline = time.monotonic() + PUBLISH_LIMIT_S
        while not supervisor.lock.try_acquire():
            environment = read_environment(folder)
            if environment:
                apply_environment(environment)
                return None
            if time.monotonic() > deadline:
                raise StartError(f"Another process holds {folder.path}, and has no database ready yet.")
            time.sleep(0.1)
        supervisor.catch_signals()
        return run_with_temporary_stores(supervisor, arguments)
    except StopRequested:
        return 130
    except StartError as error:
        complain(str(error))
        return 1
    finally:
        supervisor.stop()


def run_with_temporary_stores(supervisor: Supervisor, arguments: Sequence[str]) -> int:
    """Starts the stores quietly, brings the database up to date and runs the command as a child; returns its code."""
    supervisor.is_quiet = True
    supervisor.clear_folder()
    environment = make_environment(supervisor.folder, host="127.0.0.1", port=0, extra={})
    environment |= supervisor.start_stores(environment)
    is_looking = arguments[1] == "doctor" and "--server" in arguments
    if arguments[1] not in COMMANDS_WITHOUT_MIGRATION and not is_looking:
        migrate = make_manage_command("migrate", "--verbosity", "0")
        code = subprocess.run(migrate, env=environment, check=False).returncode
        if code != 0:
            return code
    command = subprocess.Popen([sys.executable, *arguments], env=environment)
    while (code := command.poll()) is None:  # type: ignore[assignment]  # narrowed by the loop's end
        if supervisor.stop_signals:
            command.terminate()
            return command.wait()
        supervisor.tick()
        time.sleep(0.02)
    return code
