"""`source`: the original source lines around a function's definition."""

from typing import Annotated, Final

from django.http import Http404
from rest_framework.request import Request

from aggregate.selectors.functions.originals import select_excerpt
from aggregate.selectors.functions.table import FunctionRow
from dashboard.api.core.answer import Answer, doc
from dashboard.api.core.parameters import Text
from dashboard.api.core.parts import FuncAnswer
from dashboard.api.slices.calls import FuncView
from profcore.code.owners import find_rules
from profcore.code.source_links import make_link
from projects.models import Project

NOTE: Final = "The line says where the function is defined. The browser never says which of its lines were running."
RELEASE: Final = Text("release", "A release that has the function; the newest one by default.")


class LineAnswer(Answer):
    number: int
    text: str
    is_cut: Annotated[bool, doc("Whether this is only a part of a very long line.")]


class ExcerptAnswer(Answer):
    path: Annotated[str, doc("As it is in every release.")]
    line: Annotated[int, doc("Where the function is defined, from 1.")]
    column: Annotated[int, doc("From 1, in UTF-16 units.")]
    line_count: Annotated[int, doc("Of the whole source; 0 if its text is not kept.")]
    lines: Annotated[list[LineAnswer], doc("The lines around the definition; none if the map came without the text.")]


class FunctionSourceAnswer(Answer):
    """Where a function is defined, and the lines around it."""

    function: FuncAnswer
    release: Annotated[
        str | None, doc("The release that the place and the text are of; null if no source map covers it.")
    ]
    source: Annotated[ExcerptAnswer | None, doc("Null if no source map covers it.")]
    link: Annotated[str | None, doc("By the project's `source_link_template`.")]
    owners: Annotated[list[str], doc("By the project's `owner_rules`.")]
    note: str


class SourceView(FuncView):
    known_params = (RELEASE,)

    def get(self, request: Request, slug: str, func_id: str) -> FunctionSourceAnswer:
        """Returns the original source around a function's definition, in one release."""
        release = RELEASE.read(request.query_params)
        func = self.get_func(func_id, (release,) if release else ())
        if release and func.mapped is not None and func.release != release:
            raise Http404("The function is in no script of this release.")
        excerpt = select_excerpt(self.project.pk, func)
        return FunctionSourceAnswer(
            function=FuncAnswer.of(func),
            release=func.release if func.mapped is not None else None,
            source=ExcerptAnswer.of(excerpt, lines=[LineAnswer.of(line) for line in excerpt.lines])
            if excerpt
            else None,
            link=link_of_source(self.project, func),
            owners=list(owners_of_func(self.project, func)),
            note=NOTE,
        )


def owners_of_func(project: Project, func: FunctionRow) -> tuple[str, ...]:
    """Returns who owns a function's original source; none without a source map or a rule for it."""
    if func.mapped is None or not project.owner_rules:
        return ()
    return find_rules(project.owner_rules).find(func.mapped.original.source)


def link_of_source(project: Project, func: FunctionRow) -> str | None:
    """Returns the link to a function's source in the project's repository; None if there is none."""
    if func.mapped is None or func.release is None:
        return None
    original = func.mapped.original
    return make_link(
        project.source_link_template,
        release=func.release,
        path=original.source,
        line=original.line,
        column=original.column,
    )
