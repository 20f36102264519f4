"""What one look at a release says of each page and function, and which of them are told: an incident only once.

The release alert (`alerts.releases`) and the benchmark that simulates it ask this, with a store of states of their own.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from profcore.alerts.states import Evidence
from profcore.stats.verdict.incidents import FunctionChange
from profcore.stats.verdict.judgement import Change, Judgement

# What has a state: a page (None for all pages together) without a function's name, or a function's name alone.
SubjectName = tuple[str | None, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """What one look says of a page, of all pages together (`page` is None), or of a function by its name.

    The page of a function is where it is largest; `change` is None for a function that is not asked about any more.
    """

    page: str | None
    name: str
    evidence: Evidence
    change: Change | FunctionChange | None

    @property
    def subject(self) -> SubjectName:
        """What has the state."""
        return (None, self.name) if self.name else (self.page, "")


def weigh_judgement(
    judgement: Judgement,
    names: Mapping[int, str],
    known: Mapping[str, str | None],
    told: Collection[SubjectName],
    weigh: Callable[[Weighed], bool],
) -> None:
    """Takes a look into account: of functions first, then of pages, at last of all pages together.

    An incident is told once. A page is not judged while a function is told that has most of its change, nor a function
    while its page is told; all pages together are judged while nothing else is.

    `names` has the names of the judgement's functions; followed ones without a name are left out. `known` has the
    functions with a state, with the page of each.
    `told` are the subjects that are told, or have ended for good. `weigh` keeps what a look says of one subject, and
    returns whether it is told after that.
    """
    told = set(told)
    incidents = {names[change.func_id]: change for change in reversed(judgement.incidents)}
    followed = {names[func]: change for func, change in judgement.followed.items() if func in names}
    compared = {change.page for change in judgement.pages if change.state != "too_few"}

    def keep(weighed: Weighed) -> None:
        if weigh(weighed):
            told.add(weighed.subject)

    for name in sorted({*incidents, *known}):
        function = incidents.get(name) or followed.get(name)
        page = function.page if function else known[name]
        if (None, name) not in told and (page, "") in told:
            continue
        evidence = Evidence.QUIET if page in compared else Evidence.NONE
        if function is not None:
            evidence = weigh_function(function, is_clear=name in incidents)
        keep(Weighed(page=page, name=name, evidence=evidence, change=function))
    for change in judgement.changes:
        if (change.page, "") not in told and _is_told_already(change, incidents, told):
            continue
        keep(Weighed(page=change.page, name="", evidence=weigh_change(change), change=change))


def _is_told_already(change: Change, incidents: Mapping[str, FunctionChange], told: Collection[SubjectName]) -> bool:
    """Returns whether what a page has of a slowdown is told: by a function, or of all pages together, by anything."""
    if change.page is None:
        return bool(told)
    return change.is_mainly(function for name, function in incidents.items() if (None, name) in told)


def weigh_change(change: Change) -> Evidence:
    """Returns what one look says of a page, or of all pages together.

    A change that one look alone would call clear, but not this one of many, is doubtful.
    """
    difference = change.difference
    if change.state == "too_few":
        return Evidence.NONE
    if difference is None:
        return Evidence.QUIET
    if change.state == "slower":
        return Evidence.CERTAIN if change.is_certain else Evidence.BAD
    is_doubtful = difference.delta_ms > 0 and difference.is_significant
    return Evidence.DOUBTFUL if is_doubtful else Evidence.QUIET


def weigh_function(change: FunctionChange, *, is_clear: bool) -> Evidence:
    """Returns what one look says of a function; `is_clear` if it made a page slower."""
    if is_clear:
        return Evidence.CERTAIN if change.is_certain else Evidence.BAD
    return Evidence.DOUBTFUL if change.difference.is_increase else Evidence.QUIET
