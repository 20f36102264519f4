"""The command line. Its errors never repeat an argument: someone may have put the token there."""

import argparse
from typing import NoReturn

from fieldflame import __version__
from fieldflame.exits import UsageError
from fieldflame.question import FILTERS

EXITS = """\
exit codes:
  0   nothing worse was found; the output says what could have been seen
  1   a page got slower, or a budget is exceeded
  2   too few page views to say, or a budget is not judged yet
  3   the command, or its question, is wrong
  4   the server cannot be reached, or has an error
  5   the token is missing or unknown, or may not do this

environment:
  FIELDFLAME_URL     the server's address, unless --url has it
  FIELDFLAME_TOKEN   a token of the project: scope read for check and lab, sourcemaps for announce
"""


class Parser(argparse.ArgumentParser):
    """A parser that raises instead of leaving: 2, argparse's own code, means too few page views here."""

    def error(self, message: str) -> NoReturn:
        """Raises `UsageError`."""
        # After the colon argparse repeats what it was given.
        first = message.partition(":")[0] if "unrecognized" in message or "invalid" in message else message
        if "invalid" in message:
            first = f"{first.removeprefix('argument ')}: this value is not known here"
        raise UsageError(f"{first}. See {self.prog} --help. The token is read from FIELDFLAME_TOKEN only.")


def make_parser() -> argparse.ArgumentParser:
    """Returns the parser of the command."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(
        prog="fieldflame",
        description="Ask a Fieldflame server whether a release made pages slower for real users.",
        epilog=EXITS,
        formatter_class=raw,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"fieldflame {__version__}")
    commands = parser.add_subparsers(
        dest="command", required=True, metavar="check | announce | lab | review | mcp | lsp"
    )
    add_check(
        commands.add_parser("check", help="exit with 1 if a release is slower", epilog=EXITS, formatter_class=raw)
    )
    add_announce(commands.add_parser("announce", help="tell the server about a release: its commit, time and links"))
    add_lab(commands.add_parser("lab", help="estimate what a change that a build recorded would cost real users"))
    add_review(commands.add_parser("review", help="say what the functions that a change touches cost real users"))
    add_mcp(commands.add_parser("mcp", help="answer an assistant's questions (Model Context Protocol)"))
    add_lsp(commands.add_parser("lsp", help="show in an editor what functions cost (Language Server Protocol)"))
    return parser


def add_project(parser: argparse.ArgumentParser) -> None:
    """Adds what all commands take, and forbids short forms of options."""
    parser.allow_abbrev = False
    parser.add_argument("--url", help="the server's address; default: FIELDFLAME_URL")
    parser.add_argument("--project", required=True, metavar="P", help="the project, by its short name in addresses")


def add_shared(parser: argparse.ArgumentParser) -> None:
    """Adds what commands on one release take."""
    add_project(parser)
    parser.add_argument("--release", required=True, metavar="R", help="the release, as the snippet sends it")


def add_check(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `check`."""
    add_shared(parser)
    parser.add_argument(
        "--base", metavar="B", help="the release to compare with; default: the last before that was not rolled back"
    )
    parser.add_argument(
        "--wait",
        default="0s",
        metavar="30m",
        help="wait so long for more page views, unless the result is clear before; at most 24h",
    )
    parser.add_argument(
        "--fail-on",
        action="append",
        default=[],
        metavar="slower|confirmed|budget",
        help="what fails the build; repeat it, or use a comma, for several; default: slower",
    )
    parser.add_argument(
        "--see",
        metavar="10%",
        help="exit with 2 unless the page views are enough to see a change of this size four times in five",
    )
    for name in FILTERS:
        parser.add_argument(f"--{name}", action="append", default=[], help=f"only this {name}; may be repeated")
    for name, what in (
        ("junit", "JUnit XML, for a CI's test report"),
        ("markdown", "Markdown; added to the file if that is $GITHUB_STEP_SUMMARY"),
        ("json", "the server's verdict"),
    ):
        parser.add_argument(f"--{name}", metavar="FILE", help=f"also write {what}")


def add_announce(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `announce`."""
    add_shared(parser)
    parser.add_argument("--commit", help="default: that of the build in GitHub Actions, GitLab CI or Jenkins")
    parser.add_argument("--base-commit", metavar="COMMIT", help="that of the release before")
    parser.add_argument("--released-at", metavar="TIME", help="ISO 8601; default: now, at the first announcement")
    parser.add_argument("--author", help="shown to members of the project; default: none")
    parser.add_argument("--link", metavar="URL", help="about the release; default: the build's page")
    parser.add_argument("--range-link", metavar="URL", help="of the commits between two, with {base} and {head} in it")
    parser.add_argument(
        "--rolled-back",
        action="store_true",
        help="users have an older release again; announce it later to undo this",
    )


def add_lab(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `lab`."""
    add_shared(parser)
    parser.add_argument("--base", metavar="B", help="the release before: in the lab, and for times of the field")
    parser.add_argument(
        "--lab-project", metavar="P", help="where the lab's page views are; token: FIELDFLAME_LAB_TOKEN"
    )
    for side in ("base", "head"):
        parser.add_argument(
            f"--{side}-profile", action="append", default=[], metavar="FILE", help="a .cpuprofile; may be repeated"
        )
    parser.add_argument("--page", action="append", default=[], help="only this page; may be repeated")
    parser.add_argument("--past", type=int, default=5, metavar="N", help="earlier releases to compare with; default: 5")
    parser.add_argument(
        "--fail-over", metavar="50ms", help="exit with 1 if all functions together are certain to exceed this per view"
    )
    parser.add_argument("--markdown", metavar="FILE", help="also write Markdown")
    parser.add_argument("--json", metavar="FILE", help="also write the estimate for programs")


def add_review(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `review`."""
    add_project(parser)
    parser.description = (
        "Run it in a checkout of the change. Without --release it says what the touched functions cost real users now; "
        "with it, what that release changed about them. It needs source maps on the server."
    )
    parser.add_argument(
        "--diff", metavar="FILE", help="a unified diff; - is standard input; default: that of the commits"
    )
    parser.add_argument(
        "--against", default="origin/main", metavar="C", help="commits are those since here; default: origin/main"
    )
    parser.add_argument("--release", metavar="R", help="the deployed release with the change")
    parser.add_argument("--base", metavar="B", help="with --release: what it is compared with")
    parser.add_argument("--markdown", metavar="FILE", help="also write Markdown, for one comment on the pull request")


def add_mcp(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `mcp`."""
    add_project(parser)
    parser.description = (
        "Serve assistants by the Model Context Protocol, on standard input and output, with the token in "
        "FIELDFLAME_TOKEN (scope read). Needs the packages of fieldflame[mcp]. No tool changes anything."
    )
    parser.add_argument(
        "--http",
        metavar="HOST:PORT",
        help="serve by streamable HTTP at /mcp instead; each client sends its own token as Authorization: Bearer",
    )


def add_lsp(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `lsp`."""
    add_project(parser)
    parser.description = (
        "Serve an editor by the Language Server Protocol, on standard input and output: above each function of an open "
        "file, what it costs real users. Needs FIELDFLAME_TOKEN (scope read), source maps, and fieldflame[lsp]."
    )


def read_address(text: str) -> tuple[str, int]:
    """Returns host and port of `127.0.0.1:8300`. Raises `UsageError`."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
        raise UsageError("--http must be a host and a port such as 127.0.0.1:8300.")
    return host, int(port)
