"""What groups of a login's provider give."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupRole:
    """What members of a group become: `member` or `admin` of a project (`*`: of each), or `superuser` without one."""

    group: str
    project: str
    role: str
