"""One whole Fieldflame, started as a user starts it, with its demo: for all tests that do not need one of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ops.supervisor.running import RunningStack, run_stack
from tests.runner.lending import Lender

SETTINGS: Final = {
    # One trace a batch makes a job long enough to be met, and lets it be met anywhere; a request may fold them all.
    "FIELDFLAME_JOB_BATCH_TRACES": "1",
    "FIELDFLAME_JOB_SWEEP_S": "1",
    "FIELDFLAME_READ_MAX_RAW_TRACES": "10000",
    "FIELDFLAME_READ_MAX_RAW_BYTES": str(2**30),
    # The demo need only be there: its month takes half a minute.
    "FIELDFLAME_DEMO_VIEWS": "30",
    # A sweep would hide that a notification is missing.
    "FIELDFLAME_SYMBOLICATE_SWEEP_S": "3600",
}


@contextmanager
def open_whole_stack() -> Iterator[RunningStack]:
    with run_stack(SETTINGS, with_demo=True) as stack:
        yield stack
        assert stack.stop() == 0


WHOLE_STACK: Final = Lender(open_whole_stack)
