"""What an alert is about, one by one: a page or function of a release, a party, a package.

Each has a key and a state of its own.
"""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from alerts.models import StateChange
from profcore.alerts.evidence import SubjectName
from profcore.code.owners import find_rules
from projects.models import Project

KEY_BYTES: Final = 16
IN: Final = " in "  # between a function and its place, as the release alert names its subjects


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One thing that has a state. `page` is None for all pages together; without a release or name they are empty.

    A function of a release has a name, and the page where it is largest: that may be another one at the next look.
    `base` is the release that it is compared with, only if that is its second base.
    """

    release: str = ""
    page: str | None = None
    name: str = ""
    base: str = ""

    @property
    def within_release(self) -> SubjectName:
        """What has the state, of its release."""
        return None if self.name else self.page, self.name

    @property
    def key(self) -> bytes:
        """The key of its state: texts of strangers are too long for an index."""
        thing = (self.release, *self.within_release)
        text = repr((*thing, self.base) if self.base else thing)
        return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=KEY_BYTES).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The figures of a look or a day, as `AlertFinding` keeps them."""

    views: int
    base_release: str = ""
    base_views: int | None = None
    look: int | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    relative: float | None = None
    threshold: float | None = None
    q: float | None = None
    bound: float | None = None
    culprit: str | None = None
    party: str | None = None


def owners_of(project: Project, change: StateChange) -> tuple[str, ...]:
    """Returns the owners of the function that a change names; none of a whole page, and of a script's address."""
    _, is_placed, path = (change.subject or "").rpartition(IN)
    if not project.owner_rules or not is_placed or "://" in path:
        return ()
    return find_rules(project.owner_rules).find(path)
