"""The source of a function as its page shows it: of one release, or what changed between two."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.http import QueryDict
from django.utils.safestring import SafeString

from aggregate.selectors.functions.calls import select_func, select_versions
from aggregate.selectors.functions.originals import select_excerpt
from aggregate.selectors.functions.source_changes import ChangedLine, SourceChange, select_change
from aggregate.selectors.functions.table import FunctionRow
from dashboard.api.slices.source import NOTE, link_of_source
from dashboard.pages.function.highlighting import highlight_lines
from dashboard.pages.function.query import FunctionQuery
from dashboard.web.params import read_choice, read_one

CHANGES: Final = "changes"
SIGNS: Final = {"added": "+", "removed": "−", "same": " ", "gap": "⋯"}


@dataclass(frozen=True, slots=True)
class SourceTab:
    """A way to show the source: a release, or the changes between two."""

    label: str
    link: str
    is_current: bool


@dataclass(frozen=True, slots=True)
class HighlightedChange:
    """A changed line as the page shows it."""

    line: ChangedLine
    sign: str
    html: SafeString


def describe_source(query: FunctionQuery, params: QueryDict) -> dict[str, object]:
    """Returns the source in the release that the address names, or in the slice's newest one, or the changes.

    `source_release` names a release, `source_base` the one to compare with (else the one before), and `source_view`
    may be `changes`. Raises `ParamError`.
    """
    project = query.project
    base, head = _find_pair(query, read_one(params, "source_base", ""))
    wanted = read_one(params, "source_release", "")
    view = read_choice(params, "source_view", ("", CHANGES), "")
    old = None if not base else select_func(project.pk, query.func.id, releases=(base,))
    change = select_change(project.pk, old, query.func) if view and old is not None else None
    func = old if old is not None and wanted == base and not view else query.func
    excerpt = select_excerpt(project.pk, func)
    lines = excerpt.lines if excerpt and change is None else ()
    html = highlight_lines([line.text for line in lines], excerpt.path if excerpt else "")
    return {
        "excerpt": excerpt,
        "lines": list(zip(lines, html, strict=True)),
        "change": change,
        "changed_lines": _show(change, func),
        "source_base": base,
        "source_is_first": change is not None,  # a verdict leads here to show what changed
        "source_head": head,
        "source_tabs": _build_tabs(query, base, head, CHANGES if view else func.release) if old is not None else [],
        "source_release": func.release,
        "is_change_missing": bool(view) and change is None,
        "source_link": link_of_source(project, func),
        "note": NOTE,
    }


def _find_pair(query: FunctionQuery, wanted: str) -> tuple[str, str]:
    """Returns two releases that have the function, the earlier one first; "" for one that there is not.

    The later one is that of the page. The other is the asked one, another of the slice, or the one before.
    """
    head = query.func.release
    versions = select_versions(query.project.pk, query.func.id) if head else []
    if head is None or head not in versions:
        return "", head or ""
    older = versions[versions.index(head) + 1 :]
    several = [release for release in older if release in query.slice_.releases]
    candidates = [wanted] if wanted in versions and wanted != head else several or older
    return (candidates[0] if candidates else ""), head


def _build_tabs(query: FunctionQuery, base: str, head: str, current: str | None) -> Sequence[SourceTab]:
    def link(**more: str) -> str:
        return f"{query.link(None, source_base=base, **more)}#source"

    return [
        SourceTab(base, link(source_release=base), current == base),
        SourceTab(head, link(source_release=head), current == head),
        SourceTab(CHANGES, link(source_view=CHANGES), current == CHANGES),
    ]


def _show(change: SourceChange | None, func: FunctionRow) -> list[HighlightedChange]:
    """Returns the lines of a change, each highlighted by itself."""
    lines = change.lines if change else ()
    path = func.mapped.original.source if func.mapped else ""
    html = highlight_lines([line.text for line in lines], path)
    return [HighlightedChange(line, SIGNS[line.kind], text) for line, text in zip(lines, html, strict=True)]
