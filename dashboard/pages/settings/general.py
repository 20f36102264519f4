"""The settings page "General": the project's name, and the links to its sources and traces."""

from typing import Final

from django import forms
from django.http import HttpResponse

from aggregate.selectors.previews.example_source import ExampleSource, select_example_source
from dashboard.layout.forms import SettingsForm, TemplateField
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from dashboard.web.project_pages import Tab
from profcore.code.source_links import MAX_TEMPLATE_CHARS, check_template, check_trace_template, make_link
from projects.descriptions import change_source_link, change_trace_link, rename_project

NAME_CHARS: Final = 120  # as the table has it
# The example of the link if there is no source map yet.
EXAMPLE: Final = ExampleSource("1.4.0", "src/cart/total.ts", 12, 17)


class GeneralForm(SettingsForm):
    name = forms.CharField(
        max_length=NAME_CHARS, widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )
    source_link_template = TemplateField(
        label="Link to a source",
        check=check_template,
        max_length=MAX_TEMPLATE_CHARS,
        help_text="An address with {path}, and optionally {release}, {line} and {column}. Empty: no links.",
        example="https://github.com/acme/shop/blob/{release}/{path}#L{line}",
    )
    trace_link_template = TemplateField(
        label="Link to a trace",
        check=check_trace_template,
        max_length=MAX_TEMPLATE_CHARS,
        help_text="The address of a trace in your tracing system, with {trace_id}: page views link to it.",
        example="https://jaeger.example/trace/{trace_id}",
    )


@settings_page("settings", path="settings/", tab=Tab(label="Settings", key="s", takes_slice=False))
def show_general(page: SettingsRequest) -> HttpResponse:
    project = page.project
    stored = {name: getattr(project, name) for name in GeneralForm.base_fields}
    form = GeneralForm(page.request.POST if page.has_posted else None, initial=stored)
    is_trial = "try" in page.request.POST  # also while a user types: an unfinished template is no error
    if page.has_posted and form.is_valid() and not is_trial:
        return save(page, form)
    template = form.cleaned_data.get("source_link_template", "") if form.is_bound else project.source_link_template
    example = select_example_source(project.pk)
    return page.render(
        "general",
        status=400 if form.is_bound and form.errors and not is_trial else 200,
        form=form,
        example=example or EXAMPLE,
        is_made_up=example is None,
        link=make_link(template, **(example or EXAMPLE)._asdict()) if template else None,
        created_at=project.created_at,
    )


def save(page: SettingsRequest, form: GeneralForm) -> HttpResponse:
    """Saves the form."""
    rename_project(page.project, form.cleaned_data["name"])
    change_source_link(page.project, form.cleaned_data["source_link_template"])
    change_trace_link(page.project, form.cleaned_data["trace_link_template"])
    page.log_change("general settings changed:", *form.changed_data)
    return page.redirect("The settings are saved.")
