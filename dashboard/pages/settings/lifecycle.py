"""The pages that archive, restore and delete a project. Each asks before it does so."""

from django import forms
from django.http import HttpResponse
from django.urls import reverse

from aggregate.maintenance.project_deletion import begin_deletion
from aggregate.selectors.project.summaries import select_project_summaries
from dashboard.layout.forms import SettingsForm
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from projects.key_cache import CACHE_S
from projects.lifecycle import archive_project, restore_project


@settings_page("settings", for_admins=True)
def show_archive(page: SettingsRequest) -> HttpResponse:
    """Asks, then archives the project; restores an archived one."""
    project = page.project
    if not page.has_posted:
        return page.render("archive", cache_s=CACHE_S)
    is_archived = project.archived_at is not None
    if ("restore" in page.request.POST) == is_archived:  # else someone else did it meanwhile
        (restore_project if is_archived else archive_project)(project)
        page.log_change("project restored" if is_archived else "project archived")
    state = "receives traces again" if project.archived_at is None else "is archived"
    return page.redirect(f"{project.name} {state}. This applies within {CACHE_S:.0f} seconds.")


class DeleteForm(SettingsForm):
    """Asks for the slug: a project is not deleted by a slip."""

    slug = forms.CharField(
        max_length=60,
        widget=forms.TextInput(attrs={"autocomplete": "off", "autocapitalize": "none", "spellcheck": "false"}),
    )

    def __init__(self, wanted: str, data: object = None) -> None:
        super().__init__(data)
        self.wanted = wanted
        self.fields["slug"].label = f"Type {wanted} to confirm"

    def clean_slug(self) -> str:
        slug: str = self.cleaned_data["slug"]
        if slug != self.wanted:
            raise forms.ValidationError(f"This is not the project’s slug. Type {self.wanted}.")
        return slug


@settings_page("settings", for_admins=True)
def show_delete(page: SettingsRequest) -> HttpResponse:
    """Asks for the slug, then starts to delete the project."""
    project = page.project
    form = DeleteForm(project.slug, page.request.POST if page.has_posted else None)
    if form.is_bound and form.is_valid():
        begin_deletion(project)
        page.log_change("project deletion started")
        return page.redirect(f"{project.name} is being deleted. This page shows the progress.", to=reverse("projects"))
    return page.render(
        "delete",
        status=400 if form.is_bound else 200,
        form=form,
        summary=select_project_summaries([project.pk])[project.pk],
        cache_s=CACHE_S,
    )
