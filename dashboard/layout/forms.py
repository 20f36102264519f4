"""Forms of the settings: errors are next to their fields, and members who only read cannot fill them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError

from profcore.code.source_links import TemplateError

TYPED = (forms.Textarea, forms.TextInput, forms.NumberInput)


class SettingsForm(forms.Form):
    """A form of the settings' pages."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: as in Django's stubs
        super().__init__(*args, **({"label_suffix": ""} | kwargs))

    def make_ready(self, *, may_change: bool) -> None:
        """Makes the form read-only for those who may not change it, and focuses the first field with an error.

        Text fields stay focusable, so that they can be copied. HTML has no read-only choices: those are disabled.
        """
        for field in self.fields.values():
            if not may_change and isinstance(field.widget, TYPED):
                field.widget.attrs["readonly"] = True
                field.widget.attrs.pop("placeholder", None)  # an example would look like a rule
            elif not may_change:
                field.disabled = True
        wrong = next((name for name in self.fields if self.is_bound and name in self.errors), None)
        if wrong is not None:
            self.fields[wrong].widget.attrs["autofocus"] = True

    def filled(self) -> dict[str, str]:
        """Returns the fields of a valid row that have a text, without those of the formset."""
        declared = self.base_fields
        return {name: value for name, value in self.cleaned_data.items() if name in declared and value}

    def add_service_errors(self, error: ValidationError) -> None:
        """Adds a service's errors to their fields, and those of other fields to the top of the form."""
        for name, sentences in error.message_dict.items():
            for sentence in sentences:
                self.add_error(name if name in self.fields else None, sentence)


class TemplateField(forms.CharField):
    """An optional template of a link. `check` raises `TemplateError` for a wrong one; `example` is its placeholder."""

    def __init__(self, *, check: Callable[[str], None], example: str, **kwargs: Any) -> None:  # Any: as above
        attrs = {"autocomplete": "off", "spellcheck": "false", "inputmode": "url", "placeholder": example}
        super().__init__(required=False, widget=forms.TextInput(attrs=attrs), **kwargs)
        self.check = check

    def clean(self, value: Any) -> Any:  # Any: as above
        template = super().clean(value)
        try:
            if template:
                self.check(template)
        except TemplateError as error:
            raise ValidationError(f"{str(error).capitalize()}.") from None
        return template


def read_lines(text: str) -> list[str]:
    """Returns the lines of a text, without empty ones."""
    return [line for raw_line in text.splitlines() if (line := raw_line.strip())]


if TYPE_CHECKING:
    Rows = forms.BaseFormSet[SettingsForm]
else:
    Rows = forms.BaseFormSet  # it is generic only in its stubs


class SettingsRows(Rows):
    """The rows of a form, some of them empty. A row whose fields are all empty is deleted."""

    def make_ready(self, *, may_change: bool) -> None:
        """Does the same for each row as for a form."""
        for form in self.forms:
            form.make_ready(may_change=may_change)

    def kept_forms(self) -> list[SettingsForm]:
        """Returns the rows that are not empty and not deleted, in the order of their ORDER fields."""
        kept = [form for form in self.forms if form.filled() and not form.cleaned_data.get("DELETE")]
        if self.can_order:
            kept.sort(key=lambda form: form.cleaned_data.get("ORDER") or len(self.forms))
        return kept
