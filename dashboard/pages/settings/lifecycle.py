"""The pages that archive, restore and delete a project. Each asks before it does so."""

from django.http import HttpResponse

from dashboard.pages.settings.frame import SettingsRequest, settings_page
from ingest.door.keys import CACHE_S
from ingest.projects.lifecycle import archive_project, restore_project


@settings_page("settings", for_admins=True)
def show_archive(page: SettingsRequest) -> HttpResponse:
    """Asks, then archives the project; restores an archived one."""
    project = page.project
    if not page.has_posted:
        return page.render("archive", cache_s=CACHE_S)
    is_archived = project.archived_at is not None
    if ("restore" in page.request.POST) == is_archived:  # else somebody else did it meanwhile
        (restore_project if is_archived else archive_project)(project)
        page.log_change("project restored" if is_archived else "project archived")
    words = "receives traces again" if project.archived_at is None else "is archived"
    return page.redirect(f"{project.name} {words}. This applies within {CACHE_S:.0f} seconds.")
