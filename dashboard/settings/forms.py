"""What the settings' forms share: a word on each wrong field beside it, and none to fill for who only reads."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError

TYPED = (forms.Textarea, forms.TextInput, forms.NumberInput)


class SettingsForm(forms.Form):
    """A form of the settings' pages."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: as in Django's stubs
        super().__init__(*args, **({"label_suffix": ""} | kwargs))

    def make_ready(self, *, may_change: bool) -> None:
        """Makes the form one to read for who may not change it, and puts the focus on the first field that is wrong.

        A field that is only read can still have the focus and be copied; a choice cannot be read-only in HTML.
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
        """Returns the fields of a row of rules that have a text, without those of the formset. Of a valid form."""
        declared = self.base_fields
        return {name: value for name, value in self.cleaned_data.items() if name in declared and value}

    def blame(self, error: ValidationError) -> None:
        """Puts a service's complaints beside their fields; those of fields that the form has not above all."""
        for name, sentences in error.message_dict.items():
            for sentence in sentences:
                self.add_error(name if name in self.fields else None, sentence)


def read_lines(text: str) -> list[str]:
    """Returns what was typed, a line each; empty lines are none."""
    return [line for each in text.splitlines() if (line := each.strip())]


if TYPE_CHECKING:
    Rows = forms.BaseFormSet[SettingsForm]
else:
    Rows = forms.BaseFormSet  # it is generic in its stubs alone


class SettingsRows(Rows):
    """Rows of a form, some of them empty to be filled; a row whose fields are emptied goes."""

    def make_ready(self, *, may_change: bool) -> None:
        """Makes each row ready, as a form is."""
        for form in self.forms:
            form.make_ready(may_change=may_change)

    def kept_forms(self) -> list[SettingsForm]:
        """Returns the rows that say something and are not to be deleted, in the order that was asked for."""
        kept = [form for form in self.forms if form.filled() and not form.cleaned_data.get("DELETE")]
        if self.can_order:
            kept.sort(key=lambda form: form.cleaned_data.get("ORDER") or len(self.forms))
        return kept
