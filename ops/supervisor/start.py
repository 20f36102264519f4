"""`./run` and its steps: stores, code, database, web, worker, beat, samples, and the addresses to open."""

import argparse
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aggregate.sourcemaps.tar_fault import describe_tar_fault
from ops.supervisor.children import Child
from ops.supervisor.folder import DataFolder
from ops.supervisor.forking import CAN_FORK, load_code
from ops.supervisor.messages import StartError, complain, read_log_end, say
from ops.supervisor.ports import check_port_is_free, make_url
from ops.supervisor.services import (
    BASE_DIR,
    MALLOPT,
    WEB_PROCESSES_NAME,
    clear_counts,
    make_beat_child,
    make_demo_child,
    make_environment,
    make_prepare_child,
    make_web_child,
    make_worker_child,
    read_endpoint,
)
from ops.supervisor.stale_processes import MARK_NAME
from ops.supervisor.supervisor import StopRequested, Supervisor
from profcore.kernel import KernelChoice, KernelError, find_kernel

STARTED_NAME = "FIELDFLAME_UP_STARTED"  # the process that has given itself the environment of its children
ABOUT = (
    "Start all of Fieldflame on this machine and keep it running until Ctrl-C: PostgreSQL and Valkey (or the ones "
    "that DATABASE_URL and REDIS_URL name), the web server, a worker and beat."
)
BEAT_SETTLES_S = 0.3


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `up`, from the command line and the environment."""

    host: str
    port: int
    data: Path
    with_demo: bool


def main(arguments: Sequence[str]) -> int:
    """Runs `up` with these options."""
    options = read_options(arguments)
    begin_again(options.data)
    return run_up(options)


def read_options(arguments: Sequence[str]) -> Options:
    environ = os.environ
    parser = argparse.ArgumentParser(prog="./run", description=ABOUT)
    parser.add_argument("--host", default=environ.get("FIELDFLAME_HOST", "127.0.0.1"), help="listen here (127.0.0.1)")
    parser.add_argument("--port", type=int, default=environ.get("FIELDFLAME_PORT", "8000"), help="and here (8000)")
    data = environ.get("FIELDFLAME_DATA") or BASE_DIR / "var"
    parser.add_argument("--data", type=Path, default=data, help="the data folder (var)")
    parser.add_argument("--no-demo", action="store_true", help="no demo project and no sample traces")
    parsed = parser.parse_args(arguments)
    data = Path(parsed.data).expanduser().resolve()
    return Options(host=parsed.host, port=parsed.port, data=data, with_demo=not parsed.no_demo)


def begin_again(data: Path) -> None:
    """Replaces this process by itself, once, with an environment by which its forks can be told from other processes.

    Others see the environment that a process began with, and a fork has that of its parent.
    """
    pid = str(os.getpid())
    if CAN_FORK and os.environ.get(STARTED_NAME) != pid:
        more = {STARTED_NAME: pid, MARK_NAME: secrets.token_hex(16), "FIELDFLAME_DATA": str(data)}
        os.execve(sys.executable, sys.orig_argv, os.environ | more)  # noqa: S606  # this very command


def run_up(options: Options) -> int:
    """Runs Fieldflame until it is told to stop; returns 0 after an orderly stop, 1 if it cannot start."""
    os.umask(0o077)  # what the parts write is for this user alone
    supervisor = Supervisor(DataFolder(options.data.expanduser().resolve()), holder="up")
    supervisor.catch_signals()
    try:
        start_all(supervisor, options)
        supervisor.watch()
        say("Stopping.")
    except StopRequested:
        say("Stopping, before all was started.")
    except (StartError, KernelError) as error:
        complain(str(error))
        return 1
    except OSError as error:
        complain(f"{error.strerror or error}: {error.filename or supervisor.folder.path}")
        return 1
    finally:
        supervisor.stop()
    say("Stopped.")
    return 0


def start_all(supervisor: Supervisor, options: Options) -> None:
    """Starts every part, each when the one before is ready. Raises StartError or StopRequested."""
    began = time.monotonic()
    fold = describe_fold()
    folder = supervisor.folder
    url = make_url(options.host, options.port) + os.environ.get("FIELDFLAME_PATH", "")  # checked with all settings
    folder.create()
    supervisor.take_folder()
    check_port_is_free(options.host, options.port)
    environment = make_environment(folder, host=options.host, port=options.port, extra={"FIELDFLAME_URL": url})
    environment.setdefault(WEB_PROCESSES_NAME, str(choose_web_processes()))
    environment["PROMETHEUS_MULTIPROC_DIR"] = str(clear_counts(folder))  # read when the code is loaded
    environment.setdefault("OPENBLAS_NUM_THREADS", "1")  # our arrays are small, and its threads would not be forked

    def load(addresses: Mapping[str, str]) -> None:
        if CAN_FORK:
            load_code({**environment, **addresses}, MALLOPT)

    environment |= supervisor.start_stores(environment, meanwhile=load)
    supervisor.publish(environment)
    if fault := describe_tar_fault():
        complain(fault)
    login = prepare(supervisor, environment)
    start_parts(supervisor, environment, options, url)
    if options.with_demo and not folder.demo_loaded.exists():
        load_demo(supervisor, make_demo_child(folder, environment, url=url))
    has_demo = folder.demo_loaded.exists()
    say_where_to_look(folder, url, login, fold=fold, has_demo=has_demo, took_s=time.monotonic() - began)


def choose_web_processes() -> int:
    """Returns one web process for up to three cores, else two: the worker and PostgreSQL need cores too."""
    cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(2, max(1, cores // 2))


def prepare(supervisor: Supervisor, environment: dict[str, str]) -> dict[str, str]:
    """Migrates, collects static files and creates the first user; returns the login to show."""
    result = supervisor.folder.path / "prepare.json"
    child = make_prepare_child(supervisor.folder, environment, result=result)
    code = supervisor.run_to_end(child, "the database is prepared")
    if code != 0:
        raise StartError(f"The database could not be prepared; the end of {child.log}:{read_log_end(child.log)}")
    login = json.loads(result.read_text(encoding="utf-8"))
    result.unlink()
    say("The database is ready.")
    return {str(name): str(value) for name, value in login.items()}


def start_parts(supervisor: Supervisor, environment: dict[str, str], options: Options, url: str) -> None:
    folder = supervisor.folder

    def wait_for_web(child: Child) -> None:
        supervisor.wait_for(child, f"{url}/healthz answers", lambda: read_endpoint(f"{url}/healthz")[0] == 200)
        say("The web server is ready.")

    def wait_for_worker(child: Child) -> None:
        ready = folder.worker_ready
        supervisor.wait_for(child, "the worker listens", ready.exists)
        supervisor.wait_for(child, f"{url}/readyz says that a worker answers", lambda: is_ready(url))
        say("The worker is ready.")

    def wait_for_beat(child: Child) -> None:
        settled_at = time.monotonic() + BEAT_SETTLES_S
        supervisor.wait_for(child, "beat has settled", lambda: time.monotonic() > settled_at and child.is_running())

    web = make_web_child(folder, environment, host=options.host, port=options.port)
    worker, beat = make_worker_child(folder, environment), make_beat_child(folder, environment)
    supervisor.add((web, wait_for_web), (worker, wait_for_worker), (beat, wait_for_beat))


def is_ready(url: str) -> bool:
    return read_endpoint(f"{url}/readyz")[0] == 200


def load_demo(supervisor: Supervisor, child: Child) -> None:
    """Creates the demo project and loads its samples. A failure is reported and stops nothing else."""
    code = supervisor.run_to_end(child, "the samples of the demo are loaded")
    if code != 0:
        complain("The samples of the demo project could not be loaded; the next start tries again.")


def describe_fold() -> str:
    """Returns which twin of the kernel the parts use, and if it is the pure one, why. Raises KernelError."""
    choice = os.environ.get("FIELDFLAME_KERNEL", "auto")
    kernel = find_kernel(choice)
    if kernel.module is not None:
        return "compiled kernel"
    why = kernel.why_pure
    if choice != KernelChoice.PURE:
        why += "; `./run` builds it for the next start" if shutil.which("cargo") else "; there is no cargo to build it"
    return f"pure Python, which takes longer: {why} (docs/operations.md#the-compiled-kernel)"


def say_where_to_look(
    folder: DataFolder, url: str, login: dict[str, str], *, fold: str, has_demo: bool, took_s: float
) -> None:
    say(f"\nFieldflame is ready after {took_s:.1f} s.\n")
    say(f"  Dashboard   {url}/")
    if "password" in login:
        say(f"  Login       {login['user']}   password  {login['password']}   (kept in {folder.admin_password})")
    elif login:
        say(f"  Login       {login['user']}   with the password in {folder.admin_password}")
    if has_demo:
        say(f"  Demo page   {url}/demo/   (open it in Chromium: its traces arrive in the project `demo`)")
    say(f"  Fold        {fold}")
    say(f"  Logs        {folder.logs}")
    say("\nCtrl-C stops it; `./run --help` shows the options.\n")
