"""The page "Vitals" over all views of a slice: it starts a job, shows its progress, and then its result.

Its address has the job, so it can be given to other members for as long as the result is kept.
"""

from datetime import UTC, datetime

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from aggregate.jobs.requests import TooManyJobs, has_result, select_job, start_job
from aggregate.models import Job
from aggregate.selectors.slice.slices import SliceError
from aggregate.selectors.vitals.table import check_vitals
from dashboard.api.jobs.preparation import make_params, read_job
from dashboard.api.slices.vitals import VitalsTableQuery
from dashboard.pages.vitals.layout import describe_frame
from dashboard.pages.vitals.stored_answer import read_answer
from dashboard.pages.vitals.view import ROWS, VitalsPlace, describe_table, kept_params, link_ways, read_query
from dashboard.web.access import get_visible_project
from dashboard.web.decorators import project_page
from dashboard.web.params import ParamError, read_uuid
from dashboard.web.queries import read_page_slice, write_query
from projects.models import Project

KIND = "vitals"


@project_page(kind="form", name="vitals-all", path="vitals/all/")
def show_all_views(request: HttpRequest, slug: str) -> HttpResponse:
    """Asks whether to read all views; a post starts the job; with a job in the address, shows it."""
    project = get_visible_project(request.user, slug)
    try:
        if (job_id := request.GET.get("job")) is not None and request.method != "POST":
            return show_job(request, project, job_id)
        place = VitalsPlace(reverse("vitals", args=[slug]), read_page_slice(request, project), read_query(request.GET))
        check_vitals(place.slice_)
        if request.method == "POST":
            return start(request, project, place)
    except (ParamError, SliceError) as error:
        return render(request, "dashboard/layout/bad_address.html", {"error": error}, status=400)
    return show(request, project, place)


def start(request: HttpRequest, project: Project, place: VitalsPlace) -> HttpResponse:
    """Starts the job of a page's question, or finds an equal one that is under way, and leads to it."""
    params = [*place.slice_.params(), *kept_params(place.query.group_by, place.waits), ("limit", str(ROWS))]
    try:
        job = start_job(project.pk, kind=KIND, params=params, link="")
    except TooManyJobs as error:
        messages.error(request, str(error))
        return HttpResponseRedirect(place.link())
    job_params = [(name, value) for name, value in job.params if name != "limit"]
    return HttpResponseRedirect(f"{request.path}?{write_query([*job_params, ('job', str(job.id))])}")


def show_job(request: HttpRequest, project: Project, job_id: str) -> HttpResponse:
    """Shows a job of this kind, no matter who started it. Slice and grouping are the job's own, whatever the address
    says.
    """
    job = select_job(project.pk, read_uuid(job_id))
    if job is None or job.kind != KIND:
        raise Http404("There is no such job.")
    slice_, query = read_job(project.pk, KIND, make_params([(name, value) for name, value in job.params]))
    assert isinstance(query, VitalsTableQuery)
    place = VitalsPlace(reverse("vitals", args=[project.slug]), slice_, query.table)
    is_there = has_result(job, datetime.now(UTC))
    table = describe_table(place, read_answer(job, rows=ROWS)) if is_there else {}
    has_failed = job.state in (Job.State.FAILED, Job.State.CANCELLED)
    return show(request, project, place, job=job, has_result=is_there, has_failed=has_failed, **table)


def show(request: HttpRequest, project: Project, place: VitalsPlace, **context: object) -> HttpResponse:
    """Shows the page. Its filters and groupings lead to the page of the sample, which answers at once."""
    values: dict[str, object] = {
        **describe_frame(request, project, place.slice_, "vitals", kept_params(place.query.group_by, place.waits)),
        **link_ways(place),
        "sample_link": place.link(),
        "start_link": place.link(path=reverse("vitals-all", args=[project.slug])),
    }
    return render(request, "dashboard/vitals/all_views.html", values | context)
