"""The settings page of one channel: its address and terms, its deliveries, and their replay."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.cache import add_never_cache_headers

from alerts.channels import (
    MAX_OWNERS,
    MAX_PATTERN_CHARS,
    MAX_PATTERNS,
    Terms,
    change_channel,
    create_channel,
    delete_channel,
    write_minutes,
)
from alerts.delivery.gathering import make_test, replay
from alerts.models import AlertRule, Channel
from alerts.reading import find_message, select_messages
from alerts.rules import MAX_NAME_CHARS, RELEASE_ALERT_ID, RELEASE_NAME
from alerts.sealing import SealBroken
from dashboard.layout.forms import SettingsForm, read_lines
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from profcore.code.owners import MAX_OWNER_CHARS
from projects.audit.entries import TooManyActs

SECTION: Final = "settings-alerts"
KINDS: Final = (
    (Channel.Kind.MAIL, "E-mail"),
    (Channel.Kind.WEBHOOK, "Webhook, signed"),
    (Channel.Kind.SLACK, "Slack (incoming webhook)"),
    (Channel.Kind.TEAMS, "Microsoft Teams (workflow)"),
)
SHOWN_MESSAGES: Final = 50
DELETED: Final = "A deleted alert"
MAX_ADDRESS_CHARS: Final = 6_000
MAX_PAGES_CHARS: Final = MAX_PATTERNS * (MAX_PATTERN_CHARS + 2)


class TermsForm(SettingsForm):
    """What can be changed of a channel."""

    name = forms.CharField(label="Name", max_length=MAX_NAME_CHARS, widget=forms.TextInput({"autocomplete": "off"}))
    addresses = forms.CharField(
        label="Address",
        required=False,
        max_length=MAX_ADDRESS_CHARS,
        widget=forms.Textarea({"rows": 2, "spellcheck": "false", "autocomplete": "off"}),
        help_text="E-mail: one address per line. Other kinds: the address that the receiving service gave you.",
    )
    tells_suspected = forms.BooleanField(label="Also send what is only suspected", required=False)
    is_digest = forms.BooleanField(label="One digest per release, a day after its first change", required=False)
    quiet_from = forms.TimeField(label="Quiet from", required=False, widget=forms.TimeInput({"type": "time"}))
    quiet_to = forms.TimeField(label="Quiet until", required=False, widget=forms.TimeInput({"type": "time"}))
    time_zone = forms.CharField(label="Time zone", max_length=64, initial="UTC")
    alert_ids = forms.TypedMultipleChoiceField(
        label="Only messages of these alerts (no selection = all)",
        coerce=int,
        empty_value=None,
        required=False,
        widget=forms.CheckboxSelectMultiple,
    )
    pages = forms.CharField(
        label="Only messages about these pages",
        required=False,
        max_length=MAX_PAGES_CHARS,
        widget=forms.Textarea({"rows": 2, "spellcheck": "false", "autocomplete": "off"}),
        help_text="One per line; * is any text, as in /checkout/*. If it is empty, messages are about all pages.",
    )
    owners = forms.CharField(
        label="Only messages about functions of these owners",
        required=False,
        max_length=MAX_OWNERS * (MAX_OWNER_CHARS + 2),
        widget=forms.Textarea({"rows": 2, "spellcheck": "false", "autocomplete": "off"}),
        help_text="One per line, as in the rules under Code. Messages about whole pages then go to other channels.",
    )
    is_on = forms.BooleanField(label="Send messages", required=False, initial=True)

    def __init__(self, *args: Any, project_id: int, kept: Sequence[int] = (), **kwargs: Any) -> None:  # Any: stubs'
        """`kept` are the alerts that a channel has, deleted ones among them: without a word, it would get all."""
        super().__init__(*args, **kwargs)
        alerts = AlertRule.objects.filter(project_id=project_id).order_by("id")
        names = {RELEASE_ALERT_ID: RELEASE_NAME, **dict(alerts.values_list("id", "name"))}
        gone = [(alert_id, DELETED) for alert_id in kept if alert_id not in names]
        self.fields["alert_ids"].choices = [*names.items(), *gone]  # type: ignore[attr-defined]  # a choice field

    def clean_alert_ids(self) -> tuple[int, ...] | None:
        chosen = self.cleaned_data["alert_ids"]
        return tuple(sorted(chosen)) if chosen else None

    def clean_pages(self) -> tuple[str, ...] | None:
        return tuple(dict.fromkeys(read_lines(self.cleaned_data["pages"]))) or None

    def clean_owners(self) -> tuple[str, ...] | None:
        return tuple(dict.fromkeys(read_lines(self.cleaned_data["owners"]))) or None

    def clean_quiet_from(self) -> int | None:
        return _minutes(self.cleaned_data["quiet_from"])

    def clean_quiet_to(self) -> int | None:
        return _minutes(self.cleaned_data["quiet_to"])

    def terms(self) -> Terms:
        """Returns the terms of a valid form."""
        return Terms(**{name: self.cleaned_data[name] for name in Terms.__slots__})


class ChannelForm(TermsForm):
    """A new channel."""

    kind = forms.ChoiceField(label="Kind", choices=KINDS)


def _minutes(time: Any) -> int | None:  # Any: a time of the day, or nothing
    return None if time is None else time.hour * 60 + time.minute


@settings_page(SECTION, for_admins=True)
def show_new_channel(page: SettingsRequest) -> HttpResponse:
    """Creates a channel. The secret of a webhook is shown once: a redirect would have to keep it."""
    form = ChannelForm(page.request.POST if page.has_posted else None, project_id=page.project.pk)
    if form.is_bound and form.is_valid():
        try:
            channel, secret = create_channel(
                project=page.project,
                kind=form.cleaned_data["kind"],
                name=form.cleaned_data["name"],
                addresses=read_lines(form.cleaned_data["addresses"]),
                terms=form.terms(),
                now=datetime.now(UTC),
            )
        except ValidationError as error:
            form.add_service_errors(error)
        else:
            page.log_change("channel created:", channel.id)
            if secret:
                return render_channel(page, channel, secret=secret)
            return page.redirect(
                "The channel is created. Send a test to see whether it arrives.", to=_link(page, channel)
            )
    return page.render("channel_new", status=400 if form.is_bound else 200, form=form)


@settings_page(SECTION, for_admins=True)
def show_channel(page: SettingsRequest, channel_id: int) -> HttpResponse:
    """Shows and changes a channel, renews its secret, sends a test, or replays a message."""
    channel = find_channel(page, channel_id)
    if not page.has_posted:
        return render_channel(page, channel)
    if "test" in page.request.POST:
        try:
            make_test(channel, datetime.now(UTC))
        except TooManyActs as error:
            return page.redirect(str(error), to=_link(page, channel), level=messages.ERROR)
        return page.redirect(
            "A test is on its way. Reload this page in half a minute to see whether it arrived.",
            to=_link(page, channel),
        )
    if "replay" in page.request.POST:
        return replay_message(page, channel)
    form = TermsForm(page.request.POST, project_id=page.project.pk, kept=channel.alert_ids or ())
    if form.is_valid():
        try:
            addresses = read_lines(form.cleaned_data["addresses"]) or None
            renews = "renew" in page.request.POST
            secret = change_channel(
                channel, name=form.cleaned_data["name"], terms=form.terms(), addresses=addresses, renews_secret=renews
            )
        except ValidationError as error:
            form.add_service_errors(error)
        except SealBroken as error:
            form.add_error("addresses", str(error))
        else:
            page.log_change("channel changed:", channel.id)
            if secret:
                return render_channel(page, channel, secret=secret)
            return page.redirect("The channel is saved.", to=_link(page, channel))
    return render_channel(page, find_channel(page, channel_id), form=form, status=400)


def render_channel(
    page: SettingsRequest, channel: Channel, *, form: TermsForm | None = None, secret: str = "", status: int = 200
) -> HttpResponse:
    """Renders the page of a channel, with its newest messages."""
    initial = {name: getattr(channel, name) for name in ("name", *Terms.__slots__)}
    initial |= {name: write_minutes(getattr(channel, name)) for name in ("quiet_from", "quiet_to")}
    initial |= {name: "\n".join(getattr(channel, name) or ()) for name in ("pages", "owners")}
    response = page.render(
        "channel",
        status=status,
        channel=channel,
        form=form or TermsForm(initial=initial, project_id=page.project.pk, kept=channel.alert_ids or ()),
        secret=secret,
        sent=select_messages(page.project.pk, channel.id, most=SHOWN_MESSAGES),
        kind_word=dict(KINDS)[Channel.Kind(channel.kind)],
        has_links=bool(settings.ADDRESS),
    )
    if secret:
        add_never_cache_headers(response)
    return response


def replay_message(page: SettingsRequest, channel: Channel) -> HttpResponse:
    """Sends a message again, with the same id."""
    try:
        message_id = UUID(page.request.POST["replay"])
    except ValueError:
        raise Http404("There is no such message.") from None
    if find_message(page.project.pk, channel.id, message_id) is None:
        raise Http404("There is no such message.")
    try:
        is_new = replay(page.project.pk, message_id, datetime.now(UTC))
    except TooManyActs as error:
        return page.redirect(str(error), to=_link(page, channel), level=messages.ERROR)
    message = "It is sent again, with the same id." if is_new else "It is on its way already."
    return page.redirect(message, to=_link(page, channel), level=messages.SUCCESS if is_new else messages.INFO)


@settings_page(SECTION, for_admins=True)
def end_channel(page: SettingsRequest, channel_id: int) -> HttpResponse:
    channel = find_channel(page, channel_id)
    if page.has_posted:
        delete_channel(channel)
        page.log_change("channel deleted:", channel.id)
        return page.redirect("The channel is deleted.")
    return page.render("channel_end", channel=channel)


def find_channel(page: SettingsRequest, channel_id: int) -> Channel:
    """Returns a channel of the project. Raises `Http404`."""
    channel = Channel.objects.filter(project_id=page.project.pk, id=channel_id).first()
    if channel is None:
        raise Http404("There is no such channel.")
    return channel


def _link(page: SettingsRequest, channel: Channel) -> str:
    return reverse("settings-channel", args=[page.project.slug, channel.id])
