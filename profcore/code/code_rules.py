"""A project's rules for its own code: categories, domains, packages, and which funcs are the same.

Rules are data, written as JSON by the project's administrators and checked once here. All are optional.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from profcore.code.categories import CategoryRule, ProjectPattern
from profcore.code.identity import MAPPED_ID
from profcore.code.packages import ProjectPackageRule
from profcore.code.parties import PartyRule

MAX_RULES: Final = 200  # per kind: each func is compared with each of them
MAX_TEXT_CHARS: Final = 400
MAX_SAME_FUNCS: Final = 2_000
FUNC_ID: Final = re.compile(r"[0-9]{1,10}")
MAX_PATTERNS_SIZE: Final = 5_000  # of all patterns together: each func may meet each of them


class CategorySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A category for the funcs whose script (`uri`), original source or name matches a regular expression."""

    category: str
    uri: str | None = None
    source: str | None = None
    name: str | None = None


class PartySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The owner of a domain and all below it."""

    domain: str
    owner: Literal["own", "other"]
    name: str = ""


class PackageSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which folders are packages of the project."""

    path: str
    name: str = "*"


class SameFunc(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"old": "from", "new": "to"}):
    """An override: the func with the id `from` is the same as the one with the id `to`."""

    old: str
    new: str


class CodeSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The rules in the shape of their JSON."""

    categories: tuple[CategorySpec, ...] = ()
    parties: tuple[PartySpec, ...] = ()
    packages: tuple[PackageSpec, ...] = ()
    same_funcs: tuple[SameFunc, ...] = ()


class CodeRuleError(ValueError):
    """A rule cannot be used; has its place and a sentence."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}")
        self.field = field
        self.detail = detail


@dataclass(frozen=True, slots=True)
class CodeRules:
    """Checked rules. `same` maps a func's id to the id it stands for, with chains resolved."""

    categories: Sequence[CategoryRule] = ()
    parties: Sequence[PartyRule] = ()
    packages: Sequence[ProjectPackageRule] = ()
    same: dict[str, str] = field(default_factory=dict)


def read_code_rules(rules: Any) -> CodeRules:  # Any: JSON, checked here
    """Returns checked rules from JSON. Raises `CodeRuleError`, which names the rule."""
    try:
        spec = msgspec.convert(rules, CodeSpec)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `")
        raise CodeRuleError(path.rstrip("`").removeprefix("$.") or "rules", text) from None
    for name in ("categories", "parties", "packages"):
        if len(getattr(spec, name)) > MAX_RULES:
            raise CodeRuleError(name, f"at most {MAX_RULES} rules are accepted")
    return CodeRules(
        _read_categories(spec.categories),
        [
            _made(f"parties[{at}]", PartyRule, rule.domain, rule.owner, rule.name)
            for at, rule in enumerate(spec.parties)
        ],
        [_made(f"packages[{at}]", ProjectPackageRule, rule.path, rule.name) for at, rule in enumerate(spec.packages)],
        _same(spec.same_funcs),
    )


def _read_categories(specs: Sequence[CategorySpec]) -> list[CategoryRule]:
    rules: list[CategoryRule] = []
    size = 0
    for at, spec in enumerate(specs):
        rule = _category(at, spec)
        size += sum(p.size for p in (rule.uri, rule.source, rule.name) if isinstance(p, ProjectPattern))
        if size > MAX_PATTERNS_SIZE:
            raise CodeRuleError(f"categories[{at}]", "the patterns of all rules together are too large")
        rules.append(rule)
    return rules


def _category(at: int, spec: CategorySpec) -> CategoryRule:
    place = f"categories[{at}]"
    if spec.uri is None and spec.source is None and spec.name is None:
        raise CodeRuleError(place, "a rule needs a uri, a source or a name")
    rule: CategoryRule = _made(place, _make_category, spec.category, spec.uri, spec.source, spec.name)
    return rule


def _make_category(category: str, uri: str | None, source: str | None, name: str | None) -> CategoryRule:
    uri_pattern, source_pattern, name_pattern = (
        None if text is None else ProjectPattern(text) for text in (uri, source, name)
    )
    return CategoryRule(
        category=category, reason="a rule of the project", uri=uri_pattern, source=source_pattern, name=name_pattern
    )


def _made(place: str, make: Any, *parts: str | None) -> Any:  # Any: one of the rules' classes
    if any(part is not None and len(part) > MAX_TEXT_CHARS for part in parts):
        raise CodeRuleError(place, f"a text has at most {MAX_TEXT_CHARS} characters")
    try:
        return make(*parts)
    except ValueError as error:
        raise CodeRuleError(place, str(error)) from None


def _same(specs: Sequence[SameFunc]) -> dict[str, str]:
    """Returns the final id for each id. A circle has none and is an error."""
    if len(specs) > MAX_SAME_FUNCS:
        raise CodeRuleError("same_funcs", f"at most {MAX_SAME_FUNCS} are accepted")
    leads: dict[str, str] = {}
    for at, spec in enumerate(specs):
        for name in (spec.old, spec.new):
            if not (MAPPED_ID.fullmatch(name) or FUNC_ID.fullmatch(name)):
                raise CodeRuleError(f"same_funcs[{at}]", f"from and to are ids of functions; not {name[:80]!r}")
        if spec.old in leads:
            raise CodeRuleError(f"same_funcs[{at}]", f"{spec.old} already has another override")
        leads[spec.old] = spec.new
    return {old: _follow(old, leads) for old in leads}


def _follow(start: str, leads: dict[str, str]) -> str:
    at = start
    for _ in range(len(leads) + 1):
        if at not in leads:
            return at
        at = leads[at]
    raise CodeRuleError("same_funcs", f"{start} leads back to itself")
