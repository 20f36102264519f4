"""The settings page of one watch: a budget or new cost, with a preview of the last 30 days, and deleting it."""

from datetime import UTC, datetime
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse

from aggregate.guard.budgets import Preview, preview_budget
from aggregate.guard.new_cost_previews import NewCostPreview, preview_new_costs
from aggregate.guard.questions import MAX_MS, MEASURES, Question, clean_question
from aggregate.guard.questions import MAX_NAME_CHARS as MAX_SUBJECT_CHARS
from aggregate.guard.watches import MAX_NAME_CHARS, RELEASE_WATCH_ID, change_watch, create_watch, delete_watch
from aggregate.guard_models import Watch
from dashboard.pages.frame.forms import SettingsForm
from dashboard.pages.guard.previews import ShownPreview, prepare_preview
from dashboard.pages.settings.frame import SettingsRequest, settings_page
from profcore.trace.dimensions import DEVICE_CLASSES

SECTION: Final = "settings-watches"
TIME, SHARE, INTERACTION, NEW = "time", "share", "inp_script", "new_cost"
ABOUT: Final = (
    (TIME, "Script time per view, seen and hidden"),
    (SHARE, "The share of a function, package or third party"),
    (INTERACTION, "Script time in the longest interaction of a view (INP)"),
    (NEW, "New third parties or packages"),
)
SUBJECTS: Final = (("", "–"), ("function", "Function"), ("package", "Package"), ("party", "Third party"))
PERCENT: Final = 100.0
SHOWN_NEW: Final = 50  # of a preview: those that would be told come first


class WatchForm(SettingsForm):
    """A budget, or a watch on new cost. Shares are in per cent here."""

    name = forms.CharField(label="Name", max_length=MAX_NAME_CHARS, widget=forms.TextInput({"autocomplete": "off"}))
    about = forms.ChoiceField(label="Watch", choices=ABOUT)
    limit = forms.FloatField(
        label="Limit",
        min_value=0,
        max_value=MAX_MS,
        help_text="Milliseconds per view. For a share: per cent. For interactions: ms at the 75th percentile of views.",
    )
    by = forms.ChoiceField(label="Share or new cost of a", choices=SUBJECTS, required=False)
    subject = forms.CharField(
        label="Name of the function, package or third party",
        required=False,
        max_length=MAX_SUBJECT_CHARS,
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
        help_text="Only for a share. As the page Functions shows it.",
    )
    page = forms.CharField(
        label="Page", required=False, widget=forms.TextInput({"autocomplete": "off", "placeholder": "/cart"})
    )
    device = forms.ChoiceField(label="Device class", required=False)
    is_on = forms.BooleanField(label="Switched on", required=False, initial=True)

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: as in Django's stubs
        super().__init__(*args, **kwargs)
        choices = [("", "Any"), *((each, each) for each in DEVICE_CLASSES)]
        self.fields["device"].choices = choices  # type: ignore[attr-defined]  # a choice field

    @property
    def kind(self) -> str:
        """The kind of watch of a valid form."""
        return Watch.Kind.NEW_COST if self.cleaned_data["about"] == NEW else Watch.Kind.BUDGET

    def question(self) -> dict[str, Any]:  # Any: JSON
        """Returns the checked question of a valid form. Raises `ValidationError` for the form's fields."""
        fields = self.cleaned_data
        is_share = fields["about"] == SHARE
        asked = {
            "measure": fields["about"] if fields["about"] in MEASURES else TIME,
            "limit": fields["limit"] / PERCENT if is_share else fields["limit"],
            "page": fields["page"],
            "device": fields["device"],
            "by": fields["by"],
            "name": fields["subject"],
        }
        try:
            return clean_question(self.kind, asked)
        except ValidationError as error:
            names = {"name": "subject", "measure": "about", "kind": "about"}
            raise ValidationError({names.get(n, n): texts for n, texts in error.message_dict.items()}) from None


def fill(watch: Watch) -> dict[str, object]:
    """Returns the fields of a watch for its form."""
    asked = watch.question
    about = NEW if watch.kind == Watch.Kind.NEW_COST else asked["measure"]
    limit = asked["limit"] * PERCENT if about == SHARE else asked["limit"]
    rest = {"by": asked.get("by", ""), "subject": asked.get("name", "")}
    where = {"page": asked.get("page", ""), "device": asked.get("device", "")}
    return {"name": watch.name, "about": about, "limit": round(limit, 6), "is_on": watch.is_on, **rest, **where}


@settings_page(SECTION, for_admins=True)
def show_new_watch(page: SettingsRequest) -> HttpResponse:
    return _show(page, None)


@settings_page(SECTION, for_admins=True)
def show_watch(page: SettingsRequest, watch_id: int) -> HttpResponse:
    return _show(page, find_watch(page, watch_id))


def _show(page: SettingsRequest, watch: Watch | None) -> HttpResponse:
    """Shows, previews, creates or changes a watch."""
    initial = fill(watch) if watch is not None else {"by": "party"}
    form = WatchForm(page.request.POST if page.has_posted else None, initial=initial)
    if form.is_bound and form.is_valid():
        now = datetime.now(UTC)
        try:
            question = form.question()
            if "preview" in page.request.POST:
                if form.cleaned_data["about"] == INTERACTION:
                    return _render(page, watch, form, prepared=prepare_preview(page, question, now))
                make = preview_budget if form.kind == Watch.Kind.BUDGET else preview_new_costs
                return _render(page, watch, form, preview=make(page.project.pk, Question(**question), now))
            _save(page, watch, form, question, now)
        except ValidationError as error:
            form.add_service_errors(error)
        else:
            return page.redirect("The watch is saved. It judges finished days (UTC).")
    return _render(page, watch, form, status=400 if form.is_bound else 200)


def _save(page: SettingsRequest, watch: Watch | None, form: WatchForm, question: dict[str, Any], now: datetime) -> None:
    name, is_on = form.cleaned_data["name"], form.cleaned_data["is_on"]
    if watch is None:
        made = create_watch(project=page.project, kind=form.kind, name=name, question=question, is_on=is_on, now=now)
        page.log_change("watch created:", made.id)
        return
    if form.kind != watch.kind:
        raise ValidationError({"about": "Create another watch for this."})
    change_watch(watch, name=name, question=question, is_on=is_on, now=now)
    page.log_change("watch changed:", watch.id)


def _render(
    page: SettingsRequest,
    watch: Watch | None,
    form: WatchForm,
    *,
    preview: Preview | NewCostPreview | None = None,
    status: int = 200,
    prepared: ShownPreview | None = None,
) -> HttpResponse:
    if isinstance(preview, NewCostPreview):
        one, many = (
            ("package", "packages") if form.cleaned_data["by"] == "package" else ("third party", "third parties")
        )
        what = one if len(preview.told) == 1 else many
        shown = {"new_costs": preview, "found": preview.found[:SHOWN_NEW], "what": what}
        return page.render("watch", status=status, watch=watch, form=form, **shown)
    unit = "%" if form.is_bound and form.is_valid() and form.cleaned_data["about"] == SHARE else "ms"
    factor = PERCENT if unit == "%" else 1.0
    days = [
        (day, state.name.capitalize(), None if day.value is None else day.value * factor)
        for day, state in (preview.days if preview else [])
    ]
    found = {"days": days, "alerts": preview.alerts if preview else 0, "unit": unit, "shown": prepared}
    return page.render("watch", status=status, watch=watch, form=form, preview=preview, **found)


@settings_page(SECTION, for_admins=True)
def end_watch(page: SettingsRequest, watch_id: int) -> HttpResponse:
    watch = find_watch(page, watch_id)
    if page.has_posted:
        delete_watch(watch)
        page.log_change("watch deleted:", watch.id)
        return page.redirect("The watch is deleted. Its history stays.")
    return page.render("watch_end", watch=watch)


def find_watch(page: SettingsRequest, watch_id: int) -> Watch:
    """Returns a watch of the project that has a question. Raises `Http404`."""
    watch = Watch.objects.filter(project_id=page.project.pk, id=watch_id).first()
    if watch is None or watch.id == RELEASE_WATCH_ID:
        raise Http404("There is no such watch.")
    return watch
