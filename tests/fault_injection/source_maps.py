"""`aggregate.sourcemaps.map_reader`, but a map of the file `poison` kills its process, and one of `hang` never ends."""

import gzip
import os
import signal
import time

from aggregate.sourcemaps import map_reader
from aggregate.sourcemaps.map_reader import MapResult, MapTask

original = map_reader.read_alone


def read_alone(task: MapTask) -> MapResult:
    if b'"poison"' in gzip.decompress(task.map):
        os.kill(os.getpid(), signal.SIGSEGV)
    if b'"hang"' in gzip.decompress(task.map):
        time.sleep(3600)
    return original(task)


if __name__ == "__main__":
    map_reader.read_alone = read_alone
    map_reader.main()
