"""What all settings pages share: their list, their permissions, and how a form ends in a message."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from dashboard.layout.forms import SettingsForm, SettingsRows
from dashboard.layout.shell import Shell, build_tabs
from dashboard.web.access import get_visible_project, may_administer
from dashboard.web.decorators import project_page
from dashboard.web.load_shedding import take_place
from dashboard.web.project_pages import View
from projects.models import Project

logger = logging.getLogger(__name__)

# (name of its address, word), in the order of the list next to the pages
SECTIONS: Final = (
    ("settings", "General"),
    ("settings-keys", "Keys and origins"),
    ("settings-collection", "Collection"),
    ("settings-routes", "Page routes"),
    ("settings-code", "Code"),
    ("settings-display", "Display rules"),
    ("settings-sourcemaps", "Source maps"),
    ("settings-alerts", "Alerts"),
    ("settings-retention", "Retention and quota"),
    ("settings-members", "Members"),
    ("settings-tokens", "API tokens"),
    ("settings-shared", "Shared links"),
    ("settings-erase", "Erase data"),
    ("settings-audit", "Audit log"),
)
FOR_ADMINS: Final = ("settings-erase", "settings-audit")  # sections that members may not even read


@dataclass(frozen=True, slots=True)
class SettingsRequest:
    """A request to a settings page: the project, the section, and whether the user may change it."""

    request: HttpRequest
    project: Project
    section: str
    may_change: bool

    @property
    def has_posted(self) -> bool:
        """Returns whether a form was sent. Only users who may change the settings can send one."""
        return self.request.method == "POST"

    def render(self, template: str, *, status: int = 200, **context: object) -> HttpResponse:
        """Returns a page of the section. Forms are read-only for members; the first wrong field has the focus."""
        for form in context.values():
            if isinstance(form, (SettingsForm, SettingsRows)):
                form.make_ready(may_change=self.may_change)
        links = [
            (word, reverse(name, args=[self.project.slug]), name == self.section)
            for name, word in SECTIONS
            if self.may_change or name not in FOR_ADMINS
        ]
        shared = {
            "project": self.project,
            "shell": Shell(build_tabs(self.project, here="settings"), None),
            "sections": links,
            "section_word": dict(SECTIONS)[self.section],
            "may_change": self.may_change,
        }
        return render(self.request, f"dashboard/settings/{template}.html", shared | context, status=status)

    def log_change(self, change: str, *about: object) -> None:
        """Logs who changed what. `about` has ids, never keys or secrets."""
        subject = " ".join(str(part) for part in about)
        logger.info("project %s: %s %s by user %s", self.project.slug, change, subject, self.request.user.pk)

    def redirect(self, message: str, *, to: str = "", level: int = messages.SUCCESS) -> HttpResponse:
        """Redirects to the section's page, or `to` another address, which shows a message."""
        messages.add_message(self.request, level, message)
        return HttpResponseRedirect(to or reverse(self.section, args=[self.project.slug]))


def settings_page(
    section: str, *, for_admins: bool = False, members_post: bool = False, **traits: Any
) -> Callable[[View], View]:
    """Makes a view of a `SettingsRequest` a page of a section: members may read it, only admins may post.

    Strangers get status 404. With `for_admins`, members may not read it either; with `members_post`, they may post too.
    `traits` are further ones of its `PageTraits`.
    """

    def decorate(view: View) -> View:
        @project_page(kind="form", name=section, **traits)
        @wraps(view)
        def answer(request: HttpRequest, slug: str, **ids: Any) -> HttpResponse:  # Any: the address's other parts
            project = get_visible_project(request.user, slug)
            page = SettingsRequest(request, project, section, may_administer(request.user, project))
            if not page.may_change and (for_admins or (page.has_posted and not members_post)):
                return page.render("refused", status=403)
            take_place(request, slug)
            return view(page, **ids)

        return answer

    return decorate
