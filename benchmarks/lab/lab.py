"""Records a shop in a lab and on other devices, and compares the predictions of `fieldflame lab` with the field."""

import gzip
import json
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from benchmarks.lab.prediction import Recorded, predict
from benchmarks.lab.report import describe_outcome
from benchmarks.shared.browser import add_chromium
from ops.supervisor.running import run_stack
from tests.packages.lab.recording import Side, plan_visits, record
from tests.packages.lab.shop import RELEASES

AT_A_TIME: Final = 3
# With 26 views the lab found 7 of 13 changes, with 60 views 10. The field has enough for an interval on each device.
VIEWS: Final[Mapping[Side, int]] = {"lab": 60, "phones": 36, "desktops": 36}


def write_recorded(path: Path, recorded: Recorded) -> None:
    """Writes recordings to a file: gzip, JSON, a list of side, number of the release, and envelopes."""
    rows = [[side, release, list(envelopes)] for (side, release), envelopes in recorded.items()]
    path.write_bytes(gzip.compress(json.dumps(rows).encode()))


def read_recorded(path: Path) -> Recorded:
    """Returns the recordings of a file."""
    rows = json.loads(gzip.decompress(path.read_bytes()))
    return {(side, release): envelopes for side, release, envelopes in rows}


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--recorded", type=Path, help="read this file; if there is none, record and write it")
    add_chromium(parser)
    options = parser.parse_args()
    if options.recorded is not None and options.recorded.exists():
        recorded = read_recorded(options.recorded)
    else:
        visits = plan_visits(VIEWS, range(len(RELEASES)))
        recorded = record(visits, chromium=options.chromium, at_a_time=AT_A_TIME)
        if options.recorded is not None:
            write_recorded(options.recorded, recorded)
    with run_stack() as stack:
        outcome = predict(stack, recorded)
    print("\n".join(describe_outcome(outcome)))
