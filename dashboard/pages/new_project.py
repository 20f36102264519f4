"""The page on which superusers create a project. It leads to the project's first steps, with its key."""

import logging
from typing import Final

from django import forms
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.text import slugify

from dashboard.layout.forms import SettingsForm, read_lines
from dashboard.pages.settings.keys import OriginsForm
from dashboard.web.access import may_create_projects
from dashboard.web.decorators import private_form
from projects.creation import create_project
from projects.keys import clean_origins
from projects.models import Project

logger = logging.getLogger(__name__)

NAME_CHARS: Final = 120  # as the table has them
SLUG_CHARS: Final = 60
PLAIN: Final = {"autocomplete": "off", "spellcheck": "false"}


class NewProjectForm(SettingsForm):
    name = forms.CharField(
        max_length=NAME_CHARS, widget=forms.TextInput(attrs=PLAIN | {"placeholder": "The shop", "autofocus": True})
    )
    slug = forms.CharField(
        label="Slug",
        required=False,
        max_length=SLUG_CHARS,
        help_text="Part of every address of the project. It cannot change later. Empty: made from the name.",
        widget=forms.TextInput(attrs=PLAIN | {"autocapitalize": "none", "data-slug-of": "id_name"}),
    )
    origins = OriginsForm.base_fields["origins"]

    def clean(self) -> None:
        """Makes a slug from the name if none was given."""
        name = self.cleaned_data.get("name", "")
        if name and not self.cleaned_data.get("slug") and "slug" not in self.errors:
            self.cleaned_data["slug"] = slugify(name)[:SLUG_CHARS].strip("-_")
            if not self.cleaned_data["slug"]:
                self.add_error("slug", "No slug can be made from this name. Enter one: letters, digits and hyphens.")


@private_form
def show_new_project(request: HttpRequest) -> HttpResponse:
    """Shows the form, or creates the project that it describes."""
    if not may_create_projects(request.user):
        raise PermissionDenied
    form = NewProjectForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            project = create_from(form)
        except ValidationError as error:
            form.add_service_errors(error)
        else:
            logger.info("project %s: created by user %s", project.slug, request.user.pk)
            return HttpResponseRedirect(reverse("overview", args=[project.slug]))
    form.make_ready(may_change=True)
    return render(request, "dashboard/projects/new.html", {"form": form}, status=400 if form.is_bound else 200)


def create_from(form: NewProjectForm) -> Project:
    """Creates the project of a valid form. Raises `ValidationError` for `slug`, `name` or `origins`."""
    fields = form.cleaned_data
    origins = clean_origins(read_lines(fields["origins"]))
    return create_project(slug=fields["slug"], name=fields["name"], origins=origins)[0]
