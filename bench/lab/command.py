"""The part `lab` of `bench`: records the shop, or reads what was recorded, and foretells each of its releases."""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandParser

from bench.lab.demo import CHANGED, read_demo
from bench.lab.foretelling import Recorded, foretell
from bench.lab.recording import Side, plan_visits, record
from bench.lab.report import describe_outcome
from bench.lab.shop import RELEASES, Release
from config.up.running import run_stack

AT_A_TIME: Final = 3
# With 26 views the lab found 7 of 13 changes, with 60 views 10. The field has enough for an interval on each device.
VIEWS: Final[Mapping[Side, int]] = {"lab": 60, "phones": 36, "desktops": 36}


def add_lab_arguments(parser: CommandParser) -> None:
    """Adds the options."""
    parser.add_argument("--demo", action="store_true", help="lab: the demo's recordings; needs no browser")
    parser.add_argument("--recorded", type=Path, help="lab: read this file; without one there, record and write it")


def show_lab(options: Mapping[str, Any], chromium: Callable[[], str], write: Callable[[str], object]) -> None:
    """Writes the table. `options` are those of argparse; `chromium` finds the browser if it is needed."""
    path: Path | None = options["recorded"]
    names: Sequence[Release] = CHANGED if options["demo"] else RELEASES
    if options["demo"]:
        recorded: Recorded = read_demo()
    elif path is not None and path.exists():
        recorded = read_recorded(path)
    else:
        visits = plan_visits(VIEWS, range(len(RELEASES)))
        recorded = record(visits, chromium=chromium(), at_a_time=AT_A_TIME)
        if path is not None:
            write_recorded(path, recorded)
    with run_stack() as stack:
        outcome = foretell(stack, recorded, names)
    for line in describe_outcome(outcome):
        write(line)


def write_recorded(path: Path, recorded: Recorded) -> None:
    """Writes recordings to a file: gzip, JSON, a list of side, number of the release, and envelopes."""
    rows = [[side, release, list(envelopes)] for (side, release), envelopes in recorded.items()]
    path.write_bytes(gzip.compress(json.dumps(rows).encode()))


def read_recorded(path: Path) -> Recorded:
    """Returns the recordings of a file."""
    rows = json.loads(gzip.decompress(path.read_bytes()))
    return {(side, release): envelopes for side, release, envelopes in rows}
