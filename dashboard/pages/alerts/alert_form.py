"""The settings page of one alert: a budget or new third parties, with a preview of the last 30 days, and deleting
it.
"""

from datetime import UTC, datetime
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.utils.html import format_html_join

from alerts.budgets import Preview, preview_budget
from alerts.days import Day
from alerts.models import AlertRule
from alerts.new_third_parties.previews import NewThirdPartiesPreview, preview_new_third_parties
from alerts.queries import MAX_MS, MEASURES, TRACE_MEASURES, AlertQuery, clean_alert_query
from alerts.queries import MAX_NAME_CHARS as MAX_SUBJECT_CHARS
from alerts.rules import MAX_NAME_CHARS, RELEASE_ALERT_ID, change_alert, create_alert, delete_alert
from dashboard.layout.forms import SettingsForm
from dashboard.pages.alerts.previews import PreviewProgress, prepare_preview
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from dashboard.web.read_deadline import bounded_read
from profcore.numbers import write_count, write_interval, write_ms, write_share
from profcore.stats.summaries import MIN_VIEWS
from profcore.trace.dimensions import DEVICE_CLASSES

NO_ALERT: Final = "There is no such alert."
SECTION: Final = "settings-alerts"
TIME, SHARE, INTERACTION, FORCED, HANGS = "time", "share", "inp_script", "forced_layout", "hangs"
NEW = "new_third_parties"
ABOUT: Final = (
    (TIME, "Script time per view, seen and hidden"),
    (SHARE, "The share of a function, package or third party"),
    (INTERACTION, "Script time in the longest interaction of a view (INP)"),
    (FORCED, "Forced layout per view"),
    (HANGS, "Pages that hang, as browsers report them"),
    (NEW, "New third parties or packages"),
)
SUBJECTS: Final = (("function", "A function"), ("package", "A package"), ("party", "A third party"))
NEW_SUBJECTS: Final = (("party", "Third parties"), ("package", "Packages"))
# What the limit is, by the kind of alert. The page shows that of the chosen kind only.
LIMIT_HINTS: Final = (
    (TIME, "Script time: milliseconds per page view, as the mean of a day."),
    (SHARE, "A share: per cent of the script and hidden time of a day."),
    (INTERACTION, "Interactions: milliseconds. Of the page views with an interaction, three of four may have no more."),
    (FORCED, "Forced layout: milliseconds per page view, as the mean over all of them."),
    (HANGS, "Hangs: reports a day. 0: each one. Of one day over the limit you get a message."),
    (NEW, "New third parties or packages: milliseconds per page view. You get a message about those that cost more."),
)
PARTY: Final = "party"
PERCENT: Final = 100.0
SHOWN_NEW: Final = 50  # of a preview: those that would be reported come first


class AlertForm(SettingsForm):
    """A budget, or an alert on new third parties. Shares are in per cent here.

    Fields of another kind: a choice is ignored, since a browser always sends one. A name is an error, since a limit on
    something else must not look like one on what was named.
    """

    name = forms.CharField(label="Name", max_length=MAX_NAME_CHARS, widget=forms.TextInput({"autocomplete": "off"}))
    about = forms.ChoiceField(label="Alert", choices=ABOUT)
    limit = forms.FloatField(
        label="Limit",
        min_value=0,
        max_value=MAX_MS,
        help_text=format_html_join(" ", '<span class="for-kind for-{}">{}</span>', LIMIT_HINTS),
    )
    by = forms.ChoiceField(label="Share of", choices=SUBJECTS, required=False)
    new_by = forms.ChoiceField(label="What is new", choices=NEW_SUBJECTS, required=False)
    subject = forms.CharField(
        label="Its name",
        required=False,
        max_length=MAX_SUBJECT_CHARS,
        widget=forms.TextInput({"autocomplete": "off", "spellcheck": "false"}),
        help_text="Written as on the page Functions.",
    )
    page = forms.CharField(
        label="Page",
        required=False,
        widget=forms.TextInput({"autocomplete": "off", "placeholder": "/cart"}),
        help_text="Empty: all pages together.",
    )
    device = forms.ChoiceField(label="Device class", required=False)
    is_on = forms.BooleanField(label="Switched on", required=False, initial=True)

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: as in Django's stubs
        super().__init__(*args, **kwargs)
        choices = [("", "Any"), *((device, device) for device in DEVICE_CLASSES)]
        self.fields["device"].choices = choices  # type: ignore[attr-defined]  # a choice field

    @property
    def kind(self) -> str:
        """The kind of alert of a valid form."""
        return AlertRule.Kind.NEW_THIRD_PARTIES if self.cleaned_data["about"] == NEW else AlertRule.Kind.BUDGET

    def question(self) -> dict[str, Any]:  # Any: JSON
        """Returns the checked question of a valid form. Raises `ValidationError` for the form's fields."""
        fields = self.cleaned_data
        is_share, is_new = fields["about"] == SHARE, fields["about"] == NEW
        if is_share and not 0 < fields["limit"] <= PERCENT:
            raise ValidationError({"limit": "Give per cent: a number above 0, at most 100."})
        if not is_share and fields["subject"]:
            raise ValidationError(
                {"subject": "This name goes with the alert on a share. Empty the field, or choose that alert."}
            )
        raw = {
            "measure": fields["about"] if fields["about"] in MEASURES else TIME,
            "limit": fields["limit"] / PERCENT if is_share else fields["limit"],
            "page": fields["page"],
            "device": fields["device"],
            "by": fields["by"] if is_share else fields["new_by"] if is_new else None,
            "name": fields["subject"] if is_share else None,
        }
        try:
            return clean_alert_query(self.kind, raw)
        except ValidationError as error:
            names = {"name": "subject", "measure": "about", "kind": "about", "by": "new_by" if is_new else "by"}
            raise ValidationError({names.get(n, n): texts for n, texts in error.message_dict.items()}) from None


def fill(alert: AlertRule) -> dict[str, object]:
    """Returns the fields of an alert for its form."""
    question = alert.question
    about = NEW if alert.kind == AlertRule.Kind.NEW_THIRD_PARTIES else question["measure"]
    limit = question["limit"] * PERCENT if about == SHARE else question["limit"]
    by = question.get("by", PARTY)
    rest = {"by": by, "new_by": by if about == NEW else PARTY, "subject": question.get("name", "")}
    where = {"page": question.get("page", ""), "device": question.get("device", "")}
    return {"name": alert.name, "about": about, "limit": round(limit, 6), "is_on": alert.is_on, **rest, **where}


@settings_page(SECTION, for_admins=True, heavy="yes")  # previews read a table per day
def show_new_alert(page: SettingsRequest) -> HttpResponse:
    return _show(page, None)


@settings_page(SECTION, for_admins=True, heavy="yes")  # previews read a table per day
def show_alert(page: SettingsRequest, alert_id: int) -> HttpResponse:
    return _show(page, find_alert(page, alert_id))


def _show(page: SettingsRequest, alert: AlertRule | None) -> HttpResponse:
    """Shows, previews, creates or changes an alert."""
    initial = fill(alert) if alert is not None else {"by": PARTY, "new_by": PARTY}
    form = AlertForm(page.request.POST if page.has_posted else None, initial=initial)
    if form.is_bound and form.is_valid():
        now = datetime.now(UTC)
        try:
            question = form.question()
            if "preview" in page.request.POST:
                if form.cleaned_data["about"] in TRACE_MEASURES:
                    return _render(page, alert, form, prepared=prepare_preview(page, question, now))
                make = preview_budget if form.kind == AlertRule.Kind.BUDGET else preview_new_third_parties
                with bounded_read():
                    preview = make(page.project.pk, AlertQuery(**question), now)
                return _render(page, alert, form, preview=preview)
            _save(page, alert, form, question, now)
        except ValidationError as error:
            form.add_service_errors(error)
        except AlertRule.DoesNotExist:  # deleted meanwhile
            raise Http404(NO_ALERT) from None
        else:
            return page.redirect("The alert is saved. It judges finished days (UTC).")
    return _render(page, alert, form, status=400 if form.is_bound else 200)


def _save(
    page: SettingsRequest, alert: AlertRule | None, form: AlertForm, question: dict[str, Any], now: datetime
) -> None:
    name, is_on = form.cleaned_data["name"], form.cleaned_data["is_on"]
    if alert is None:
        made = create_alert(project=page.project, kind=form.kind, name=name, question=question, is_on=is_on, now=now)
        page.log_change("alert created:", made.id)
        return
    if form.kind != alert.kind:
        raise ValidationError({"about": "Create another alert for this."})
    change_alert(alert, name=name, question=question, is_on=is_on, now=now)
    page.log_change("alert changed:", alert.id)


def _render(
    page: SettingsRequest,
    alert: AlertRule | None,
    form: AlertForm,
    *,
    preview: Preview | NewThirdPartiesPreview | None = None,
    status: int = 200,
    prepared: PreviewProgress | None = None,
) -> HttpResponse:
    if isinstance(preview, NewThirdPartiesPreview):
        singular, plural = (
            ("package", "packages") if form.cleaned_data["new_by"] == "package" else ("third party", "third parties")
        )
        what = singular if len(preview.reported) == 1 else plural
        values = {"new_third_parties": preview, "parties": preview.parties[:SHOWN_NEW], "what": what}
        return page.render("alert", status=status, alert=alert, form=form, **values)
    context = {"prepared": prepared, **(describe_days(preview, form) if preview else {})}
    return page.render("alert", status=status, alert=alert, form=form, preview=preview, **context)


def describe_days(preview: Preview, form: AlertForm) -> dict[str, object]:
    """Returns the days of a budget's preview in words, and how many of them could be judged."""
    about = form.cleaned_data["about"]
    days = [(day, state.name.capitalize(), *_write_figures(day, about)) for day, state in preview.days]
    judged = [day for day, _ in preview.days if day.is_judged]
    return {
        "days": days,
        "alerts": preview.alerts,
        "judged_days": len(judged),
        "min_views": MIN_VIEWS,
        "is_never_seen": about == SHARE and bool(judged) and not any(day.value for day in judged),
    }


def _write_figures(day: Day, about: str) -> tuple[str, str]:
    """Returns the figure of a day and its interval: empty with too few views, or if too few of them ran it."""
    if day.value is None:
        return "", ""
    if about == HANGS:
        return write_count(day.value), ""
    value = write_share(day.value) if about == SHARE else write_ms(day.value)
    if day.low is None or day.high is None:
        return value, ""
    if about == SHARE:
        return value, f"{write_share(day.low)} to {write_share(day.high)}"
    return value, write_interval(day.low, day.high)


@settings_page(SECTION, for_admins=True)
def end_alert(page: SettingsRequest, alert_id: int) -> HttpResponse:
    alert = find_alert(page, alert_id)
    if page.has_posted:
        delete_alert(alert, datetime.now(UTC))
        page.log_change("alert deleted:", alert.id)
        return page.redirect("The alert is deleted. Its history stays.")
    return page.render("alert_end", alert=alert)


def find_alert(page: SettingsRequest, alert_id: int) -> AlertRule:
    """Returns an alert of the project that has a question. Raises `Http404`."""
    alert = AlertRule.objects.filter(project_id=page.project.pk, id=alert_id).first()
    if alert is None or alert.id == RELEASE_ALERT_ID:
        raise Http404(NO_ALERT)
    return alert
