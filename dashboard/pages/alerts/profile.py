"""From a message to the viewer: the difference of two releases, by a link that is signed for anyone who follows it."""

from datetime import UTC, datetime

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect

from alerts.delivery.links import sides_of
from alerts.reading import changes_of
from dashboard.api.jobs.preparation import make_params, read_job
from dashboard.api.jobs.signing import default_expiry, sign_link, viewer_url
from dashboard.api.slices.profile import ProfileQuery
from dashboard.web.access import get_visible_project
from dashboard.web.decorators import project_page
from dashboard.web.exports import name_export


@project_page(name="alerts-profile", path="alerts/changes/<int:change_id>/profile/")
def open_difference(request: HttpRequest, slug: str, change_id: int) -> HttpResponse:
    """Leads to the viewer's comparison of the two sides of a change. The link in it ends after an hour."""
    project = get_visible_project(request.user, slug)
    change = changes_of(project.pk).filter(id=change_id).first()
    if change is None or not change.base_release:
        raise Http404("There is no such difference.")
    pairs = [*sides_of(change), ("format", "firefox")]
    slice_, query = read_job(project.pk, "profile", make_params(pairs))
    assert isinstance(query, ProfileQuery)
    name = name_export(project, query.resolve(slice_)) + query.exporter.suffix
    expires_at = default_expiry(datetime.now(UTC)).replace(microsecond=0)
    path = sign_link(project, pairs, expires_at, name, maker=request.user)
    return HttpResponseRedirect(viewer_url(request.build_absolute_uri(path), name, is_difference=False))
