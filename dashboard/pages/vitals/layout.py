"""What the pages of vitals have around their own part."""

from collections.abc import Sequence

from django.http import HttpRequest
from django.utils import timezone

from aggregate.selectors.project.arrivals import select_arrivals
from aggregate.selectors.project.pages import select_releases
from aggregate.selectors.project.summaries import select_status
from aggregate.selectors.slice.slices import Slice
from dashboard.layout.shell import build_shell
from projects.models import Project


def describe_frame(
    request: HttpRequest, project: Project, slice_: Slice, page: str, kept: Sequence[tuple[str, str]]
) -> dict[str, object]:
    """Returns the context of a page's heading and filters. `kept` are parameters that its links keep."""
    releases = select_releases(project.pk)
    return {
        "project": project,
        "slice": slice_,
        "status": select_status(project.pk),
        "arrivals": select_arrivals(slice_),
        "shell": build_shell(request, project, slice_, page, releases=releases, now=timezone.now(), kept=kept),
    }
