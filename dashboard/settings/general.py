"""General: the project's name, and where a person reads its sources."""

from typing import Final

from django import forms
from django.http import HttpResponse

from aggregate.selectors.example_sources import ExampleSource, select_example_source
from dashboard.settings.forms import SettingsForm
from dashboard.settings.frame import Desk, settings_page
from ingest.projects import change_source_link, rename_project
from profcore.source_links import MAX_TEMPLATE_CHARS, TemplateError, check_template, make_link

NAME_CHARS: Final = 120  # as the table has it
# What the link shows where no source map is in yet: made up, and said to be.
MADE_UP: Final = ExampleSource("1.4.0", "src/cart/total.ts", 12, 17)


class GeneralForm(SettingsForm):
    name = forms.CharField(
        max_length=NAME_CHARS, widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )
    source_link_template = forms.CharField(
        label="Link to a source",
        required=False,
        max_length=MAX_TEMPLATE_CHARS,
        help_text="An address with {path}, and with {release}, {line} and {column} if you like. Empty: no links.",
        widget=forms.TextInput(
            attrs={
                "autocomplete": "off",
                "spellcheck": "false",
                "inputmode": "url",
                "placeholder": "https://github.com/acme/shop/blob/{release}/{path}#L{line}",
            }
        ),
    )

    def clean_source_link_template(self) -> str:
        template: str = self.cleaned_data["source_link_template"]
        try:
            if template:
                check_template(template)
        except TemplateError as error:
            raise forms.ValidationError(f"{str(error).capitalize()}.") from None
        return template


@settings_page("settings")
def show_general(desk: Desk) -> HttpResponse:
    project = desk.project
    stored = {"name": project.name, "source_link_template": project.source_link_template}
    form = GeneralForm(desk.request.POST if desk.has_posted else None, initial=stored)
    is_trial = "try" in desk.request.POST  # also while somebody types: what is not done yet is no error
    if desk.has_posted and form.is_valid() and not is_trial:
        return save(desk, form)
    template = form.cleaned_data.get("source_link_template", "") if form.is_bound else project.source_link_template
    found = select_example_source(project.pk)
    return desk.show(
        "general",
        status=400 if form.is_bound and form.errors and not is_trial else 200,
        form=form,
        example=found or MADE_UP,
        is_made_up=found is None,
        link=make_link(template, **(found or MADE_UP)._asdict()) if template else None,
        created_at=project.created_at,
    )


def save(desk: Desk, form: GeneralForm) -> HttpResponse:
    """Keeps what was typed."""
    rename_project(desk.project, form.cleaned_data["name"])
    change_source_link(desk.project, form.cleaned_data["source_link_template"])
    desk.tell("general settings changed:", *form.changed_data)
    return desk.leave("Saved.")
