"""What a project knows of its own code: rules for categories, domains and packages, and which funcs are the same.

They are data, written as JSON by the project's admins, checked once here. All are optional.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from profcore.categories import CategoryRule
from profcore.identity import MAPPED_ID
from profcore.packages import OwnPackageRule
from profcore.parties import PartyRule

MAX_RULES: Final = 200  # of a kind: each func is held against each of them
MAX_TEXT_CHARS: Final = 400
MAX_SAME_FUNCS: Final = 2_000
FUNC_ID: Final = re.compile(r"[0-9]{1,10}")
# What of a path or URI a pattern of a rule may not hold: nested or repeated repetition takes exponential time.
NESTED_REPEAT: Final = re.compile(r"[*+}]\)?[*+{]|\([^)]*[*+][^)]*\)\??[*+{]")


class CategorySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A category for the funcs whose script (`uri`), original source or name fits a regular expression."""

    category: str
    uri: str | None = None
    source: str | None = None
    name: str | None = None


class PartySpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Whose a domain is, with all below it."""

    domain: str
    owner: Literal["own", "other"]
    name: str = ""


class PackageSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which folders are packages of the project."""

    path: str
    name: str = "*"


class SameFunc(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"old": "from", "new": "to"}):
    """An override: the func of the id `from` is that of the id `to`."""

    old: str
    new: str


class CodeSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The rules as JSON has them."""

    categories: tuple[CategorySpec, ...] = ()
    parties: tuple[PartySpec, ...] = ()
    packages: tuple[PackageSpec, ...] = ()
    same_funcs: tuple[SameFunc, ...] = ()


class CodeRuleError(ValueError):
    """A rule cannot be used: where it stands, and a sentence."""

    def __init__(self, field: str, detail: str) -> None:
        super().__init__(f"{field}: {detail}")
        self.field = field
        self.detail = detail


@dataclass(frozen=True, slots=True)
class CodeRules:
    """The rules, ready to be used. `same` says of a func's id which one it stands for; chains are followed already."""

    categories: Sequence[CategoryRule] = ()
    parties: Sequence[PartyRule] = ()
    packages: Sequence[OwnPackageRule] = ()
    same: dict[str, str] = field(default_factory=dict)


def read_code_rules(rules: Any) -> CodeRules:  # Any: JSON, checked here
    """Returns rules as JSON has them, ready to be used. Raises `CodeRuleError`, which names the rule."""
    try:
        spec = msgspec.convert(rules, CodeSpec)
    except msgspec.ValidationError as error:
        text, _, path = str(error).partition(" - at `")
        raise CodeRuleError(path.rstrip("`").removeprefix("$.") or "rules", text) from None
    for name in ("categories", "parties", "packages"):
        if len(getattr(spec, name)) > MAX_RULES:
            raise CodeRuleError(name, f"at most {MAX_RULES} rules are taken")
    return CodeRules(
        [_category(at, each) for at, each in enumerate(spec.categories)],
        [
            _made(f"parties[{at}]", PartyRule, each.domain, each.owner, each.name)
            for at, each in enumerate(spec.parties)
        ],
        [_made(f"packages[{at}]", OwnPackageRule, each.path, each.name) for at, each in enumerate(spec.packages)],
        _same(spec.same_funcs),
    )


def _category(at: int, spec: CategorySpec) -> CategoryRule:
    place = f"categories[{at}]"
    if spec.uri is None and spec.source is None and spec.name is None:
        raise CodeRuleError(place, "a rule needs a uri, a source or a name")
    for text in (spec.uri, spec.source, spec.name):
        if text is not None and NESTED_REPEAT.search(text):
            raise CodeRuleError(place, "a pattern must not repeat what repeats")
    rule: CategoryRule = _made(place, _make_category, spec.category, spec.uri, spec.source, spec.name)
    return rule


def _make_category(category: str, uri: str | None, source: str | None, name: str | None) -> CategoryRule:
    return CategoryRule(category, "a rule of the project", uri=uri, source=source, name=name)


def _made(place: str, make: Any, *parts: str | None) -> Any:  # Any: one of the rules' classes
    if any(part is not None and len(part) > MAX_TEXT_CHARS for part in parts):
        raise CodeRuleError(place, f"a text has at most {MAX_TEXT_CHARS} characters")
    try:
        return make(*parts)
    except ValueError as error:
        raise CodeRuleError(place, str(error)) from None


def _same(specs: Sequence[SameFunc]) -> dict[str, str]:
    """Returns where each id leads in the end. A ring would lead nowhere."""
    if len(specs) > MAX_SAME_FUNCS:
        raise CodeRuleError("same_funcs", f"at most {MAX_SAME_FUNCS} are taken")
    leads: dict[str, str] = {}
    for at, spec in enumerate(specs):
        for name in (spec.old, spec.new):
            if not (MAPPED_ID.fullmatch(name) or FUNC_ID.fullmatch(name)):
                raise CodeRuleError(f"same_funcs[{at}]", f"from and to are ids of functions; not {name[:80]!r}")
        if spec.old in leads:
            raise CodeRuleError(f"same_funcs[{at}]", f"{spec.old} is said to be another function already")
        leads[spec.old] = spec.new
    return {old: _follow(old, leads) for old in leads}


def _follow(start: str, leads: dict[str, str]) -> str:
    at = start
    for _ in range(len(leads) + 1):
        if at not in leads:
            return at
        at = leads[at]
    raise CodeRuleError("same_funcs", f"{start} leads back to itself")
