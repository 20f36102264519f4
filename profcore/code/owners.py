"""Who owns a source, by rules in the format of CODEOWNERS: lines of a pattern and its owners, of which the last wins.

Format: https://docs.github.com/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners
GitLab's sections (`[Name]`, `^[Name]`) are skipped, and their default owners are those of lines without any.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import re2

from profcore.caching import keep

MAX_LINES: Final = 1_000  # each path meets each of them
MAX_PATTERN_CHARS: Final = 300
MAX_OWNERS: Final = 20  # of a line
MAX_OWNER_CHARS: Final = 100
MAX_CHARS: Final = 100_000
MAX_FOUND: Final = 10_000  # paths whose owners are kept
SECTION: Final = re.compile(r"\^?\[[^\]]*\](?:\[\d+\])?\s*(.*)")
# A part of a pattern: an escaped character, `**`, `*`, `?`, or plain text.
PART: Final = re.compile(r"\\(.)|(\*\*)|(\*)|(\?)|([^\\*?]+)")


# Projects whose rules are kept ready: compiling a thousand takes 0.1 s.
KEPT: Final = 16


class OwnerRuleError(ValueError):
    """A line that is no rule; the text says which and why."""


@dataclass(frozen=True)
class Owners:
    """Rules, ready to use."""

    rules: Sequence[tuple[object, tuple[str, ...]]] = ()  # a compiled pattern, and the owners of what it matches
    _found: dict[str, tuple[str, ...]] = field(default_factory=dict, compare=False)

    def find(self, path: str) -> tuple[str, ...]:
        """Returns the owners of an original source by its path; none for what no rule names, or has no owner."""
        if path not in self._found:
            owners: tuple[str, ...] = ()
            for pattern, named in reversed(self.rules):
                if pattern.search(path):  # type: ignore[attr-defined]  # re2 has no types
                    owners = named
                    break
            if len(self._found) >= MAX_FOUND:
                self._found.clear()
            self._found[path] = owners
        return self._found[path]


def read_owners(text: str) -> Owners:
    """Returns the rules of a text. Raises `OwnerRuleError`."""
    if len(text) > MAX_CHARS:
        raise OwnerRuleError(f"the rules may have {MAX_CHARS:,} characters")
    rules = []
    default: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        plain = re.sub(r"(?:^|(?<=\s))#.*", "", line).strip()
        if not plain:
            continue
        if (section := SECTION.fullmatch(plain)) is not None:
            default = tuple(section[1].split())
            continue
        pattern, *owners = re.split(r"(?<!\\)\s+", plain)
        if pattern.startswith("!"):
            raise OwnerRuleError(f"line {number}: a pattern cannot begin with !")
        if (
            len(pattern) > MAX_PATTERN_CHARS
            or len(owners) > MAX_OWNERS
            or any(len(o) > MAX_OWNER_CHARS for o in owners)
        ):
            raise OwnerRuleError(
                f"line {number}: a pattern has at most {MAX_PATTERN_CHARS} characters, and {MAX_OWNERS} owners of at "
                f"most {MAX_OWNER_CHARS}"
            )
        rules.append((_compile(pattern), tuple(owners) or default))
        if len(rules) > MAX_LINES:
            raise OwnerRuleError(f"there may be {MAX_LINES:,} rules")
    return Owners(rules)


@keep
@lru_cache(maxsize=KEPT)
def find_rules(text: str) -> Owners:
    """Returns the rules that a project keeps, ready to use."""
    return read_owners(text)


def _compile(pattern: str) -> object:
    """Returns a pattern as a regular expression without backtracking: members write it, and paths are foreign."""
    body = pattern.lstrip("/").replace("\\ ", " ")
    is_folder, body = body.endswith("/"), body.rstrip("/")
    anchored = pattern.startswith("/") or "/" in body
    expression = "".join(_translate(match) for match in PART.finditer(body.replace("**/", "\0")))
    # Of a folder all below it; of `docs/*` only what is in it; of a name also what is below a folder of that name.
    end = "/" if is_folder else "$" if body.endswith("/*") else "(?:/|$)"
    options = re2.Options()
    options.log_errors = False
    return re2.compile(f"{'^' if anchored else '(?:^|/)'}{expression}{end}", options)


def _translate(match: re.Match[str]) -> str:
    escaped, any_folders, any_text, any_character, plain = match.groups()
    if any_folders:
        return ".*"
    if any_text:
        return "[^/]*"
    if any_character:
        return "[^/]"
    return "(?:.*/)?".join(re2.escape(part) for part in (escaped or plain).split("\0"))
