"""The page that erases a page view: it asks, starts a job, and shows how far the job is."""

import gzip
import json
import logging
from datetime import UTC, datetime
from uuid import UUID

from django import forms
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render

from aggregate.jobs.requests import ERASE_KIND, TooManyJobs, has_result, iter_result, select_job
from aggregate.maintenance.view_erasures import start_erasure
from aggregate.models import Job, PageView
from dashboard.layout.forms import SettingsForm
from dashboard.layout.shell import Shell, build_tabs
from dashboard.web.access import get_visible_project, may_administer
from dashboard.web.decorators import project_page
from dashboard.web.params import read_uuid
from ingest.models import Receipt
from projects.models import Project

logger = logging.getLogger(__name__)


class EraseForm(SettingsForm):
    """Asks for a word: a view is not erased by a slip."""

    confirm = forms.CharField(
        label="Type erase to confirm",
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )

    def clean_confirm(self) -> str:
        word: str = self.cleaned_data["confirm"]
        if word != "erase":
            raise forms.ValidationError("Type the word erase.")
        return word


@project_page(kind="form", name="view-erase", path="views/<str:view_id>/erase/")
def show_erase(request: HttpRequest, slug: str, view_id: str) -> HttpResponse:
    """Asks whether to erase a view; with a job in the address, shows its progress. For admins."""
    project = get_visible_project(request.user, slug)
    if not may_administer(request.user, project):
        raise PermissionDenied
    view, job_id = read_uuid(view_id), request.GET.get("job")
    if job_id is not None:
        return show_progress(request, project, view, read_uuid(job_id))
    traces = Receipt.objects.filter(project=project, view_id=view).count()
    if not traces and not PageView.objects.filter(project=project, view_id=view).exists():
        raise Http404("There is no such view.")
    form = EraseForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            job = start_erasure(project.pk, view)
        except TooManyJobs as error:
            form.add_error(None, str(error))
            form.make_ready(may_change=True)
            return show(request, project, view, status=429, form=form, traces=traces)
        # Not the view: the log outlives it.
        logger.info("project %s: erasure %s started by user %s", project.slug, job.id, request.user.pk)
        return HttpResponseRedirect(f"{request.path}?job={job.id}")
    form.make_ready(may_change=True)
    return show(request, project, view, status=400 if form.is_bound else 200, form=form, traces=traces)


def show_progress(request: HttpRequest, project: Project, view: UUID, job_id: UUID) -> HttpResponse:
    """Shows the state of a job, and its outcome when it is done."""
    job = select_job(project.pk, job_id)
    if job is None or job.kind != ERASE_KIND:
        raise Http404("There is no such erasure.")
    outcome = None
    if has_result(job, datetime.now(UTC)):
        outcome = json.loads(gzip.decompress(b"".join(iter_result(job))))
    has_failed = job.state in (Job.State.FAILED, Job.State.CANCELLED)
    return show(request, project, view, job=job, outcome=outcome, has_failed=has_failed)


def show(request: HttpRequest, project: Project, view: UUID, *, status: int = 200, **context: object) -> HttpResponse:
    shared = {"project": project, "view_id": view, "shell": Shell(build_tabs(project, here="views"), None)}
    return render(request, "dashboard/views/erase.html", shared | context, status=status)
