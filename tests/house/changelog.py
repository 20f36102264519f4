"""The changelog as its tests read it: releases, their sections, and what an upgrade asks of operators."""

import re
from dataclasses import dataclass
from typing import Final

from tests.house.tree import ROOT

HEADING: Final = re.compile(r"(Unreleased|(\d+)\.(\d+)\.(\d+) \((\d{4}-\d\d-\d\d)\))")
UPGRADE: Final = "Before you upgrade"
NOTHING: Final = "Nothing."


@dataclass(frozen=True, slots=True)
class ReleaseNotes:
    """The notes of a release: its heading, and the text of each section by its title, in their order."""

    heading: str
    sections: dict[str, str]

    @property
    def version(self) -> tuple[int, ...] | None:
        """The version as numbers; None of what is not released."""
        found = HEADING.fullmatch(self.heading)
        return tuple(map(int, found.groups()[1:4])) if found and found[2] else None


def read_changelog(text: str | None = None) -> list[ReleaseNotes]:
    """Returns the notes of all releases, as the file has them."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8") if text is None else text
    notes = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, rest = part.partition("\n")
        pieces = re.split(r"^### (.*)\n", rest, flags=re.MULTILINE)
        notes.append(ReleaseNotes(heading.strip(), dict(zip(pieces[1::2], pieces[2::2], strict=True))))
    return notes


def find_faults(notes: list[ReleaseNotes]) -> list[str]:
    """Returns a sentence for each fault of the changelog's form."""
    faults = [f"{each.heading}: not a heading" for each in notes if not HEADING.fullmatch(each.heading)]
    versions = [each.version for each in notes if each.version is not None]
    if versions != sorted(set(versions), reverse=True):
        faults.append("the newest release is not first")
    if [each.heading for each in notes].index("Unreleased") != 0:
        faults.append("what is not released is not first")
    for each in notes:
        if next(iter(each.sections), None) != UPGRADE:
            faults.append(f"{each.heading}: the first section is not {UPGRADE!r}")
        for title, text in each.sections.items():
            faults += [f"{each.heading}, {title}: {fault}" for fault in find_list_faults(text, title == UPGRADE)]
    return faults


def find_list_faults(text: str, may_be_nothing: bool) -> list[str]:
    """Returns what is wrong with a section's list: each entry is a sentence behind a dash."""
    text = text.strip("\n")
    if may_be_nothing and text == NOTHING:
        return []
    begin, *entries = re.split(r"^- ", text, flags=re.MULTILINE)
    faults = ["it does not begin with a list"] if begin or not entries else []
    return faults + [f"no full stop: {each[:30]!r}" for each in entries if not each.rstrip().endswith((".", ")", ":"))]
