"""The settings page "Keys and origins": public keys, their allowed origins, and revoking a key."""

from datetime import UTC, datetime, timedelta
from typing import Final

from django import forms
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse

from aggregate.selectors.project.summaries import count_refused
from dashboard.layout.forms import SettingsForm, read_lines
from dashboard.layout.sdk_lines import write_datadog_lines, write_dsn, write_sentry_lines
from dashboard.layout.snippet_tag import HEADER, write_tag
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from dashboard.web.own_address import server_url
from profcore.errors import Reason
from projects.key_cache import CACHE_S
from projects.keys import DATADOG_SITES, MAX_ORIGINS, change_forwarding, change_origins, create_key, revoke_key
from projects.models import IngestKey

ORIGIN_CHARS: Final = 300  # per line of the form; the service has a slightly lower limit and a better error
REFUSED_DAYS: Final = 7


class OriginsForm(SettingsForm):
    origins = forms.CharField(
        label="Allowed origins",
        required=False,
        max_length=MAX_ORIGINS * ORIGIN_CHARS,
        widget=forms.Textarea(
            attrs={"rows": 4, "spellcheck": "false", "autocomplete": "off", "placeholder": "https://shop.example"}
        ),
        help_text=(
            "One per line. https://*.shop.example matches all subdomains, and * matches any origin. "
            "Without origins, browsers cannot send traces; servers and command lines, which send no origin, can."
        ),
    )


class KeyForm(OriginsForm):
    forwards_to = forms.ChoiceField(
        label="Datadog’s other data",
        required=False,
        choices=[("", "Drop it"), *((site, f"Pass it on to {site}") for site in DATADOG_SITES)],
        help_text="Of pages whose option proxy is this key’s address: what Datadog’s SDK sends beside profiles.",
    )


@settings_page("settings-keys")
def show_keys(page: SettingsRequest) -> HttpResponse:
    form = OriginsForm(page.request.POST if page.has_posted else None)
    if form.is_bound and form.is_valid():
        try:
            key = create_key(project=page.project, origins=read_lines(form.cleaned_data["origins"]))
        except ValidationError as error:
            form.add_service_errors(error)
        else:
            page.log_change("key created:", key.pk)
            return page.redirect("The key is created. Add its tag to your pages.")
    base_url = server_url(page.request)
    keys = IngestKey.objects.filter(project=page.project).order_by("-pk")
    live = [
        (key, write_tag(base_url, key.public_key), write_dsn(base_url, key.public_key, page.project.pk))
        for key in keys
        if key.revoked_at is None
    ]
    since = datetime.now(UTC) - timedelta(days=REFUSED_DAYS)
    return page.render(
        "keys",
        status=400 if form.is_bound else 200,
        form=form,
        live=live,
        sentry_lines=write_sentry_lines(live[0][2]) if live else "",
        datadog_lines=write_datadog_lines(base_url, live[0][0].public_key) if live else "",
        revoked=[key for key in keys if key.revoked_at is not None],
        header=HEADER,
        refused=count_refused(page.project.pk, Reason.ORIGIN_NOT_ALLOWED, since),
        refused_days=REFUSED_DAYS,
    )


@settings_page("settings-keys", for_admins=True)
def change_key(page: SettingsRequest, key_id: int) -> HttpResponse:
    key = find_live_key(page, key_id)
    form = KeyForm(
        page.request.POST if page.has_posted else None,
        initial={"origins": "\n".join(key.origins), "forwards_to": key.forwards_to},
        auto_id="key_%s",
    )
    if form.is_bound and form.is_valid():
        try:
            change_origins(key, read_lines(form.cleaned_data["origins"]))
            change_forwarding(key, form.cleaned_data["forwards_to"])
        except ValidationError as error:
            form.add_service_errors(error)
        else:
            page.log_change("key changed:", key.pk)
            return page.redirect(f"The key is saved. It applies within {CACHE_S:.0f} seconds.")
    return page.render("key", status=400 if form.is_bound else 200, form=form, key=key)


@settings_page("settings-keys", for_admins=True)
def end_key(page: SettingsRequest, key_id: int) -> HttpResponse:
    key = find_live_key(page, key_id)
    if page.has_posted:
        revoke_key(key)
        page.log_change("key revoked:", key.pk)
        return page.redirect(f"The key is revoked. Traces sent with it are refused after {CACHE_S:.0f} seconds.")
    others = IngestKey.objects.filter(project=page.project, revoked_at=None).exclude(pk=key.pk).count()
    return page.render("key_end", key=key, others=others, cache_s=CACHE_S)


def find_live_key(page: SettingsRequest, key_id: int) -> IngestKey:
    """Returns an active key of the project. Raises `Http404` for other projects' keys and revoked keys."""
    key = IngestKey.objects.filter(project=page.project, pk=key_id, revoked_at=None).first()
    if key is None:
        raise Http404("There is no such key.")
    return key
