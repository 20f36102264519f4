"""`profile`: a slice as a file for a viewer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Self

from django.http import HttpResponseBase, QueryDict
from rest_framework.request import Request

from aggregate.jobs.runs import JobResult
from aggregate.selectors.exports.requests import ExportQuery, ExportRequest, resolve_export, select_export
from aggregate.selectors.slice.reading import Reading
from aggregate.selectors.slice.slices import Slice
from dashboard.api.core.answer import BINARY, NOT_CHANGED, OBJECT, TEXT, operation
from dashboard.api.core.parameters import EXPORT_PARAMS, Text
from dashboard.api.core.views import ProjectView
from dashboard.api.slices.queries import Query
from dashboard.web.exports import answer_export, link_of, name_export
from dashboard.web.params import read_choice, read_export_query, read_one, read_raw_ref
from dashboard.web.project_pages import PageTraits
from dashboard.web.raw_bodies import answer_raw
from profcore.formats.registry import EXPORTERS, FORMATS, RAW, Exporter
from projects.models import Project

GZIP_TYPE: Final = "application/gzip"
FORMAT: Final = Text("format", choices=list(FORMATS), is_required=True)
COMPRESS: Final = Text("compress", "`gzip` sends a `.gz` file.", choices=["none", "gzip"], default="none")
CONTENT: Final = {
    "application/json": OBJECT,
    GZIP_TYPE: BINARY,
    "application/octet-stream": BINARY,
    "text/plain": TEXT,
    "text/csv": TEXT,
}


@dataclass(frozen=True, slots=True)
class ProfileQuery(Query):
    """`profile`: the slice in a viewer's format, or its views, segments or difference."""

    kind = "profile"
    params = (*EXPORT_PARAMS, FORMAT, COMPRESS)
    exporter: Exporter
    as_gzip_file: bool
    export: ExportQuery

    @classmethod
    def read(cls, params: QueryDict) -> Self:
        exporter = EXPORTERS[read_choice(params, "format", list(EXPORTERS), "")]
        as_gzip_file = COMPRESS.read(params) == "gzip"
        return cls(exporter, as_gzip_file and not exporter.is_gzip, read_export_query(params))

    def resolve(self, slice_: Slice) -> ExportRequest:
        """Returns the export of a slice. Raises `SliceError`."""
        return resolve_export(slice_, self.exporter, self.export)

    def slices(self, slice_: Slice) -> Sequence[Slice]:
        return self.resolve(slice_).slices

    def write(self, project: Project, slice_: Slice, link: str, reading: Reading) -> JobResult:
        request = self.resolve(slice_)
        export = select_export(request, project=project.name, link=link, reading=reading)
        name = name_export(project, request) + self.exporter.suffix
        # All results are stored packed. So for a gzip file the plain bytes go in, and the packed result is the file.
        if self.as_gzip_file:
            return JobResult(GZIP_TYPE, name + ".gz", self.exporter.write(export))
        return JobResult(self.exporter.media_type, name, self.exporter.write(export))


class ProfileView(ProjectView):
    traits = PageTraits(heavy="yes", on_replica=True, for_guests="fetch")
    known_params = ProfileQuery.known_params()
    job_kind: str | None = ProfileQuery.kind

    @operation(
        content=CONTENT,
        notes=NOT_CHANGED,
        errors={403: "Only administrators and tokens with the scope raw can use `format=raw`."},
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """Streams the slice as a profile; with `format=raw`, one trace as it was received."""
        params = request.query_params
        if read_one(params, "format", "") == RAW:
            as_gzip_file = COMPRESS.read(params) == "gzip"
            return answer_raw(request, self.project, read_raw_ref(params), as_gzip_file=as_gzip_file)
        query = ProfileQuery.read(params)
        export = query.resolve(self.resolve_slice())
        link = request.build_absolute_uri(link_of(self.project, export.compared_slice))
        return answer_export(
            request._request, self.project, export, query.exporter, as_gzip_file=query.as_gzip_file, link=link
        )
