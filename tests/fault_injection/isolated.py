"""`aggregate.fold.isolated_fold`, but release `poison` kills its process, and release `hang` never ends."""

import os
import signal
import time

from aggregate.fold import isolated_fold
from aggregate.fold.isolated_fold import AloneResult, AloneTask

POISON = b'"release": "poison"'
HANG = b'"release": "hang"'
original = isolated_fold.fold_alone


def fold_alone(task: AloneTask) -> AloneResult:
    if POISON in task.body:
        os.kill(os.getpid(), signal.SIGSEGV)
    if HANG in task.body:
        time.sleep(3600)
    return original(task)


if __name__ == "__main__":
    isolated_fold.fold_alone = fold_alone
    isolated_fold.main()
