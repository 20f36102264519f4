"""`source`: the original source lines around a function's definition."""

from typing import Final

from django.http import Http404
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from aggregate.selectors.functions.originals import SourceExcerpt, select_excerpt
from aggregate.selectors.functions.table import FunctionRow
from dashboard.api.core.parameters import ERRORS
from dashboard.api.slices.drilldown import FuncView
from dashboard.api.slices.drilldown_schemas import FuncShape, encode_func
from dashboard.web.params import read_one
from dashboard.web.schemas import Json, Shape
from profcore.code.source_links import make_link
from projects.models import Project

NOTE: Final = "The line says where the function is defined. The browser never says which of its lines were running."


class LineShape(Shape):
    number = serializers.IntegerField()
    text = serializers.CharField(allow_blank=True)
    is_cut = serializers.BooleanField(help_text="Whether this is only a part of a very long line.")


class ExcerptShape(Shape):
    path = serializers.CharField(help_text="As it is in every release.")
    line = serializers.IntegerField(help_text="Where the function is defined, from 1.")
    column = serializers.IntegerField(help_text="From 1, in UTF-16 units.")
    line_count = serializers.IntegerField(help_text="Of the whole source; 0 if its text is not kept.")
    lines = LineShape(many=True, help_text="The lines around the definition; none if the map came without the text.")


class FunctionSourceShape(Shape):
    """Where a function is defined, and the lines around it."""

    function = FuncShape()
    release = serializers.CharField(
        allow_null=True, help_text="The release that the place and the text are of; null if no source map covers it."
    )
    source = ExcerptShape(allow_null=True, help_text="Null if no source map covers it.")  # type: ignore[assignment]  # a word of DRF's own
    link = serializers.CharField(allow_null=True, help_text="By the project's `source_link_template`.")
    note = serializers.CharField()


class SourceView(FuncView):
    known_params = ("release",)

    @extend_schema(
        operation_id="source",
        parameters=[
            OpenApiParameter("release", str, description="A release that has the function; the newest one by default.")
        ],
        responses={200: FunctionSourceShape, **ERRORS},
    )
    def get(self, request: Request, slug: str, func_id: str) -> Response:
        """Returns the original source around a function's definition, in one release."""
        release = read_one(request.query_params, "release", "")
        func = self.get_func(func_id, (release,) if release else ())
        if release and func.mapped is not None and func.release != release:
            raise Http404("The function is in no script of this release.")
        excerpt = select_excerpt(self.project.pk, func)
        answer = {
            "function": encode_func(func),
            "release": func.release if func.mapped is not None else None,
            "source": excerpt and encode_excerpt(excerpt),
            "link": link_of_source(self.project, func),
            "note": NOTE,
        }
        return Response(answer)


def encode_excerpt(excerpt: SourceExcerpt) -> Json:
    return {
        "path": excerpt.path,
        "line": excerpt.line,
        "column": excerpt.column,
        "line_count": excerpt.line_count,
        "lines": [{"number": line.number, "text": line.text, "is_cut": line.is_cut} for line in excerpt.lines],
    }


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
