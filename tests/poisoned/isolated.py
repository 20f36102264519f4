"""`aggregate.isolated`, but a trace of release `poison` kills its process, and one of release `hang` never ends."""

import os
import signal
import time

from aggregate import isolated
from aggregate.isolated import AloneResult, AloneTask

POISON = b'"release": "poison"'
HANG = b'"release": "hang"'
original = isolated.fold_alone


def fold_alone(task: AloneTask) -> AloneResult:
    if POISON in task.body:
        os.kill(os.getpid(), signal.SIGSEGV)
    if HANG in task.body:
        time.sleep(3600)
    return original(task)


if __name__ == "__main__":
    isolated.fold_alone = fold_alone
    isolated.main()
