"""The steps of `./run`: stores, database, web, worker, beat, samples, and the addresses to open."""

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

from config.up.children import Child
from config.up.folder import DataFolder
from config.up.messages import StartError, complain, read_log_end, say
from config.up.parts import (
    make_beat_child,
    make_demo_child,
    make_environment,
    make_prepare_child,
    make_web_child,
    make_worker_child,
    read_endpoint,
)
from config.up.ports import check_port_is_free, make_url
from config.up.supervisor import StopRequested, Supervisor
from profcore.kernel import KernelError, find_kernel

PREPARE_LIMIT_S = 900.0  # a migration of a large table may take long
DEMO_LIMIT_S = 300.0
BEAT_SETTLES_S = 0.3


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `up`, from the command line and the environment."""

    host: str
    port: int
    data: Path
    with_demo: bool


def run_up(options: Options) -> int:
    """Runs Fieldflame until it is told to stop; returns 0 after an orderly stop, 1 if it cannot start."""
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
    folder, url = supervisor.folder, make_url(options.host, options.port)
    folder.create()
    supervisor.take_folder()
    check_port_is_free(options.host, options.port)
    environment = make_environment(folder, host=options.host, port=options.port, extra={"FIELDFLAME_URL": url})
    environment |= supervisor.start_stores(environment)
    supervisor.publish(environment)
    login = prepare(supervisor, environment)
    start_parts(supervisor, environment, options, url)
    if options.with_demo and not folder.demo_loaded.exists():
        load_demo(supervisor, make_demo_child(folder, environment, url=url))
    has_demo = folder.demo_loaded.exists()
    say_where_to_look(folder, url, login, fold=fold, has_demo=has_demo, took_s=time.monotonic() - began)


def prepare(supervisor: Supervisor, environment: dict[str, str]) -> dict[str, str]:
    """Migrates, collects static files and creates the first user; returns the login to show."""
    result = supervisor.folder.path / "prepare.json"
    child = make_prepare_child(supervisor.folder, environment, result=result)
    code = supervisor.run_to_end(child, PREPARE_LIMIT_S)
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

    def wait_for_worker(child: Child) -> None:
        supervisor.wait_for(child, f"{url}/readyz says that a worker answers", lambda: is_ready(url))

    def wait_for_beat(child: Child) -> None:
        settled_at = time.monotonic() + BEAT_SETTLES_S
        supervisor.wait_for(child, "beat has settled", lambda: time.monotonic() > settled_at and child.is_running())

    web = make_web_child(folder, environment, host=options.host, port=options.port)
    supervisor.add(web, wait_for_web)
    say("The web server is ready.")
    supervisor.add(make_worker_child(folder, environment), wait_for_worker)
    say("The worker is ready.")
    supervisor.add(make_beat_child(folder, environment), wait_for_beat)


def is_ready(url: str) -> bool:
    return read_endpoint(f"{url}/readyz")[0] == 200


def load_demo(supervisor: Supervisor, child: Child) -> None:
    """Creates the demo project and loads its samples. A failure is reported and stops nothing else."""
    code = supervisor.run_to_end(child, DEMO_LIMIT_S)
    if code != 0:
        complain("The samples of the demo project could not be loaded; the next start tries again.")


def describe_fold() -> str:
    """Returns which twin of the kernel the parts use, and if it is the pure one, why. Raises KernelError."""
    found = find_kernel(os.environ.get("FIELDFLAME_KERNEL", "auto"))
    if found.module is not None:
        return "compiled kernel"
    return f"pure Python, which takes longer: {found.why_pure} (docs/operations.md#the-compiled-kernel)"


def say_where_to_look(
    folder: DataFolder, url: str, login: dict[str, str], *, fold: str, has_demo: bool, took_s: float
) -> None:
    say(f"\nFieldflame is ready after {took_s:.1f} s.\n")
    say(f"  Dashboard   {url}/")
    if login.get("password"):
        say(f"  Login       {login['user']}   password  {login['password']}   (kept in {folder.admin_password})")
    if has_demo:
        say(f"  Demo page   {url}/demo/   (open it in Chromium: its traces arrive in the project `demo`)")
    say(f"  Fold        {fold}")
    say(f"  Logs        {folder.logs}")
    say("\nCtrl-C stops it; `./run --help` shows the options.\n")
