"""The worker and beat as programs: `python -m ops.celery_program worker|beat`.

Celery's own command line also loads its other commands and a shell for them, which takes 7 MB.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

HOSTNAME: Final = "celery@%h"
LOG_LEVEL: Final = "INFO"


def main(arguments: Sequence[str]) -> int:
    """Runs the part until a signal ends it; returns its exit code."""
    options = read_options(arguments)
    # Each command checks the settings before it starts a part.
    os.environ["CELERY_SKIP_CHECKS"] = "true"
    app = import_module("config.celery").app
    return run_worker(app, options) if options.part == "worker" else run_beat(app, options)


def read_options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ops.celery_program", description=__doc__)
    parts = parser.add_subparsers(dest="part", required=True)
    worker = parts.add_parser("worker")
    worker.add_argument("--queues", help="only these, separated by commas")
    worker.add_argument("--hostname", default=HOSTNAME, help="its name; %%h is the host's")
    worker.add_argument("--concurrency", type=int, help="processes, at most")
    beat = parts.add_parser("beat")
    beat.add_argument("--schedule", required=True, help="the file that keeps when tasks were last sent")
    return parser.parse_args(arguments)


def run_worker(app: Any, options: argparse.Namespace) -> int:  # Any: Celery's application, as its attributes are
    """Works with one process, and with up to `concurrency` while tasks wait (`ops.worker_processes`)."""
    from celery.utils.nodenames import host_format

    worker = app.Worker(
        hostname=host_format(options.hostname),
        loglevel=LOG_LEVEL,
        optimization="fair",  # a process gets a task when it is free, as by Celery's own command line
        queues=options.queues,
        autoscale=(options.concurrency or app.conf.worker_concurrency, 1),
        without_gossip=True,  # workers need not know of each other, and it starts sooner
        without_mingle=True,
    )
    worker.start()
    code: int = worker.exitcode or 0
    return code


def run_beat(app: Any, options: argparse.Namespace) -> int:  # Any: as above
    """Sends tasks when they are due."""
    app.Beat(loglevel=LOG_LEVEL, schedule=options.schedule, quiet=True).run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
