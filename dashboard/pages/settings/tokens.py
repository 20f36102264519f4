"""The settings page "API tokens". A token is shown once and stored as a digest."""

import shlex
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django import forms
from django.conf import settings
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.cache import add_never_cache_headers

from dashboard.layout.forms import SettingsForm
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from projects.models import ApiToken
from projects.tokens import NOTE_EVERY, create_token, revoke_token

NAME_CHARS: Final = 80  # as the table has it
SCOPES: Final = (
    (ApiToken.Scope.READ, "Read numbers, profiles and exports"),
    (ApiToken.Scope.RAW, "Read raw traces with full URLs, too"),
    (ApiToken.Scope.SOURCEMAPS, "Announce releases and upload source maps"),
    (ApiToken.Scope.ERASE, "Erase page views"),
    (ApiToken.Scope.AUDIT, "Read the audit log"),
    (ApiToken.Scope.ALERTS, "Change alerts and channels"),
)
DAYS: Final = (30, 90, 365)  # what people can choose


class TokenForm(SettingsForm):
    name = forms.CharField(
        label="Purpose",
        max_length=NAME_CHARS,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "CI of the shop"}),
    )
    scopes = forms.MultipleChoiceField(
        label="Scopes",
        choices=SCOPES,
        initial=[ApiToken.Scope.READ],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )
    days = forms.TypedChoiceField(label="Expires", coerce=int, empty_value=None, required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: as in Django's stubs
        super().__init__(*args, **kwargs)
        most = settings.TOKEN_MAX_DAYS
        choices = [(str(days), f"After {days} days") for days in sorted({min(days, most or days) for days in DAYS})]
        self.fields["days"].choices = choices if most else [*choices, ("", "Only when it is revoked")]  # type: ignore[attr-defined]  # a choice field
        self.initial.setdefault("days", min(90, most or 90))


@settings_page("settings-tokens")
def show_tokens(page: SettingsRequest) -> HttpResponse:
    form = TokenForm(page.request.POST if page.has_posted else None)
    made, clear = None, ""
    if form.is_bound and form.is_valid():
        made, clear = make_token(page, form)
        form = TokenForm()
    now = datetime.now(UTC)
    tokens = list(ApiToken.objects.filter(project=page.project).order_by("-pk"))
    response = page.render(
        "tokens",
        status=400 if form.is_bound else 200,
        form=form,
        made=made,
        clear=clear,
        command=write_command(page, made, clear) if made else "",
        live=[list_token(token) for token in tokens if has_not_ended(token, now)],
        ended=[token for token in tokens if not has_not_ended(token, now)],
        note_minutes=NOTE_EVERY // timedelta(minutes=1),
    )
    if made:
        add_never_cache_headers(response)
    return response


def make_token(page: SettingsRequest, form: TokenForm) -> tuple[ApiToken, str]:
    """Creates a token, and returns it with its clear text. A redirect would have to store the clear text."""
    fields = form.cleaned_data
    token, clear = create_token(project=page.project, name=fields["name"], scopes=fields["scopes"], days=fields["days"])
    page.log_change("token created:", token.prefix, *token.scopes)
    return token, clear


def has_not_ended(token: ApiToken, now: datetime) -> bool:
    return token.revoked_at is None and (token.expires_at is None or token.expires_at > now)


def list_token(token: ApiToken) -> dict[str, object]:
    """Returns a token with the words for its scopes."""
    return {"token": token, "scopes": [word for scope, word in SCOPES if scope in token.scopes]}


def write_command(page: SettingsRequest, token: ApiToken, clear: str) -> str:
    """Returns a shell command that tests the token."""
    tried = {
        ApiToken.Scope.READ: "api-status",
        ApiToken.Scope.ALERTS: "api-alerts",
        ApiToken.Scope.AUDIT: "api-audit",
    }
    name = next((name for scope, name in tried.items() if scope in token.scopes), "api-sourcemaps")
    address = page.request.build_absolute_uri(reverse(name, args=[page.project.slug]))
    return f"curl -H 'Authorization: Bearer {clear}' {shlex.quote(address)}"


@settings_page("settings-tokens", for_admins=True)
def end_token(page: SettingsRequest, prefix: str) -> HttpResponse:
    token = ApiToken.objects.filter(project=page.project, prefix=prefix, revoked_at=None).first()
    if token is None:
        raise Http404("There is no such token.")
    if page.has_posted:
        revoke_token(project=page.project, prefix=prefix)
        page.log_change("token revoked:", prefix)
        return page.redirect("The token is revoked, and its profile links no longer work.")
    return page.render("token_end", token=token)
