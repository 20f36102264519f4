"""A child that begins late to read its task, as on a busy machine: `python -m tests.aggregate.slow_reader`."""

import sys
import time

from aggregate.child_process import LOOK_S

if __name__ == "__main__":
    time.sleep(3 * LOOK_S)
    sys.stdout.write(str(len(sys.stdin.buffer.read())))
