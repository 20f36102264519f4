"""`aggregate.sourcemaps.isolated`, but a map of the file `poison` kills its process, and one of `hang` never ends."""

import gzip
import os
import signal
import time

from aggregate.sourcemaps import isolated
from aggregate.sourcemaps.isolated import MapResult, MapTask

original = isolated.read_alone


def read_alone(task: MapTask) -> MapResult:
    if b'"poison"' in gzip.decompress(task.map):
        os.kill(os.getpid(), signal.SIGSEGV)
    if b'"hang"' in gzip.decompress(task.map):
        time.sleep(3600)
    return original(task)


if __name__ == "__main__":
    isolated.read_alone = read_alone
    isolated.main()
