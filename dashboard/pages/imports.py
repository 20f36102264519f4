"""The import page: each file is imported completely or not at all, and the page shows the result."""

import threading
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt, csrf_protect

from dashboard.layout.shell import Shell, build_tabs
from dashboard.web.access import get_visible_project, may_administer
from dashboard.web.decorators import project_page
from dashboard.web.uploads import sent_bytes, take_files
from ingest.imports import FileReport, import_file
from profcore.formats.importers.registry import IMPORTERS
from profcore.formats.importers.shapes import FileError
from projects.models import Project

FORM_BYTES: Final = 2**20  # what a form may have besides its files
MAX_FILES: Final = 20  # of one form; more come in one archive

# Reading a file may take several hundred MB: one at a time in a process.
_turn = threading.Lock()


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one file: a report or an error."""

    name: str
    report: FileReport | None = None
    error: FileError | None = None


@csrf_exempt  # checked below: the check reads the whole body, which only an administrator may send
@project_page(kind="form", name="import", path="import/")
def show_import(request: HttpRequest, slug: str) -> HttpResponse:
    project = get_visible_project(request.user, slug)
    if not may_administer(request.user, project):
        return show(request, project, status=403, may_import=False)
    if request.method == "POST" and sent_bytes(request) > settings.IMPORT_MAX_FILE_BYTES + FORM_BYTES:
        problem = f"These files are larger than {settings.IMPORT_MAX_FILE_BYTES / 2**20:.0f} MiB together."
        return show(request, project, status=413, problem=problem)
    take_files(request)
    return answer_form(request, project)


@csrf_protect
def answer_form(request: HttpRequest, project: Project) -> HttpResponse:
    """Shows the form, and the result of the files that it sent. Status 400 if one was not imported."""
    if request.method != "POST":
        return show(request, project)
    files = request.FILES.getlist("files")
    if not 0 < len(files) <= MAX_FILES:
        problem = (
            f"At most {MAX_FILES} files are accepted; put more into one zip." if files else "Choose a file to import."
        )
        return show(request, project, status=400, problem=problem)
    if not _turn.acquire(blocking=False):
        return show(request, project, status=503, problem="Another import is running. Try again in a moment.")
    try:
        outcomes = [import_upload(project, file.name or "file", file.read(), request) for file in files]
    finally:
        _turn.release()
    has_failed = any(outcome.error is not None for outcome in outcomes)
    return show(request, project, status=400 if has_failed else 200, outcomes=outcomes)


def import_upload(project: Project, name: str, body: bytes, request: HttpRequest) -> Outcome:
    """Imports one file of a form."""
    try:
        report = import_file(
            project=project,
            name=name,
            body=body,
            release=request.POST.get("release", "").strip(),
            page=request.POST.get("page", "").strip(),
            now=timezone.now(),
            dry_run="dry_run" in request.POST,
        )
    except FileError as error:
        return Outcome(name, error=error)
    return Outcome(name, report=report)


def show(request: HttpRequest, project: Project, *, status: int = 200, **context: object) -> HttpResponse:
    """Renders the page; what was typed stays typed where the form was read."""
    is_read = "outcomes" in context
    values = {"may_import": True, "project": project, "limit_bytes": settings.IMPORT_MAX_FILE_BYTES}
    values |= {"formats": [importer.title for importer in IMPORTERS], "clamp_days": settings.VIEW_START_MAX_AGE_DAYS}
    if is_read:
        values |= {name: request.POST.get(name, "") for name in ("release", "page", "dry_run")}
    values["shell"] = Shell(build_tabs(project), None)
    return render(request, "dashboard/imports/page.html", values | context, status=status)
