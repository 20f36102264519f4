"""The exit codes, and the errors that have codes of their own."""

from enum import IntEnum


class Exit(IntEnum):
    """What an exit code means. A crash of the command itself is none of those that say something about the release."""

    OK = 0
    WORSE = 1
    TOO_FEW = 2
    USAGE = 3
    UNREACHABLE = 4
    DENIED = 5
    CRASHED = 70
    INTERRUPTED = 130


class CommandError(Exception):
    """The question could not be answered; the message says why and what to do."""

    code = Exit.UNREACHABLE


class UsageError(CommandError):
    """The command or the server's answer to it says that something was asked wrongly."""

    code = Exit.USAGE


class DeniedError(CommandError):
    """The token is missing or unknown, or may not do this."""

    code = Exit.DENIED
