"""What the doctor found: for each check a state, one sentence, and the line to add."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

# Other parts of the answer are quoted, and hostile pages write long ones.
MAX_QUOTED_CHARS: Final = 200
HEADER_LINE: Final = "Document-Policy: js-profiling, js-profiling-mode=lazy"


class State(StrEnum):
    """How a check ended."""

    OK = "ok"
    SKIPPED = "skipped"
    WARNING = "warning"
    PROBLEM = "problem"

    @property
    def word(self) -> str:
        """The state as pages write it."""
        return "OK" if self is State.OK else self.value.capitalize()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check. `line` is what to add or change; `about` has the addresses that it is about."""

    check: str
    state: State
    sentence: str
    line: str = ""
    about: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    """All findings about a page, in the order of the checks."""

    url: str
    final_url: str
    findings: Sequence[Finding]

    def count(self, state: State) -> int:
        """Returns the number of findings in a state."""
        return sum(finding.state is state for finding in self.findings)

    @property
    def problems(self) -> int:
        """The number of problems."""
        return self.count(State.PROBLEM)

    @property
    def warnings(self) -> int:
        """The number of warnings."""
        return self.count(State.WARNING)


def ok(check: str, sentence: str, *, line: str = "", about: Sequence[str] = ()) -> Finding:
    """Returns a finding: nothing to do."""
    return Finding(check=check, state=State.OK, sentence=sentence, line=line, about=about)


def skipped(check: str, sentence: str, *, line: str = "", about: Sequence[str] = ()) -> Finding:
    """Returns a finding: this was not looked at, for want of a setting. `line` is that setting."""
    return Finding(check=check, state=State.SKIPPED, sentence=sentence, line=line, about=about)


def warning(check: str, sentence: str, *, line: str = "", about: Sequence[str] = ()) -> Finding:
    """Returns a finding: it works, and could be better."""
    return Finding(check=check, state=State.WARNING, sentence=sentence, line=line, about=about)


def problem(check: str, sentence: str, *, line: str = "", about: Sequence[str] = ()) -> Finding:
    """Returns a finding: nothing is recorded, or less than could be."""
    return Finding(check=check, state=State.PROBLEM, sentence=sentence, line=line, about=about)


def quote(text: str) -> str:
    """Returns a text of the page for a sentence: short, and without what does not print."""
    printable = "".join(char if char.isprintable() else "\ufffd" for char in text[:MAX_QUOTED_CHARS])
    return f"“{printable}{'…' if len(text) > MAX_QUOTED_CHARS else ''}”"
