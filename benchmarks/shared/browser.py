"""The browser of the benchmarks that need one."""

from argparse import ArgumentParser

from tools.recording.programs import ProgramError, find_chromium


def add_chromium(parser: ArgumentParser) -> None:
    """Adds the option that names a browser; by default, the one of this machine."""
    try:
        program = find_chromium()
    except ProgramError:
        program = "chromium"
    parser.add_argument("--chromium", default=program, help="the browser (default: %(default)s)")
