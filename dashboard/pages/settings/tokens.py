"""The settings page "API tokens". A token is shown once and stored as a digest."""

import shlex
from typing import Final

from django import forms
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.cache import add_never_cache_headers

from dashboard.pages.frame.forms import SettingsForm
from dashboard.pages.settings.frame import SettingsRequest, settings_page
from ingest.models import ApiToken
from ingest.projects.tokens import create_token, revoke_token

NAME_CHARS: Final = 80  # as the table has it
KINDS: Final = (
    ("read", "Read numbers, profiles and exports"),
    ("raw", "Read everything, including raw traces with full URLs"),
    ("sourcemaps", "Only upload source maps"),
)


class TokenForm(SettingsForm):
    name = forms.CharField(
        label="Purpose",
        max_length=NAME_CHARS,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "CI of the shop"}),
    )
    kind = forms.ChoiceField(label="Permissions", choices=KINDS, initial="read")


@settings_page("settings-tokens")
def show_tokens(page: SettingsRequest) -> HttpResponse:
    form = TokenForm(page.request.POST if page.has_posted else None)
    made, clear = None, ""
    if form.is_bound and form.is_valid():
        made, clear = make_token(page, form)
        form = TokenForm()
    tokens = list(ApiToken.objects.filter(project=page.project).order_by("-pk"))
    response = page.render(
        "tokens",
        status=400 if form.is_bound else 200,
        form=form,
        made=made,
        clear=clear,
        command=write_command(page, made, clear) if made else "",
        live=[token for token in tokens if token.revoked_at is None],
        revoked=[token for token in tokens if token.revoked_at is not None],
    )
    if made:
        add_never_cache_headers(response)
    return response


def make_token(page: SettingsRequest, form: TokenForm) -> tuple[ApiToken, str]:
    """Creates a token, and returns it with its clear text. A redirect would have to store the clear text."""
    kind = form.cleaned_data["kind"]
    token, clear = create_token(
        project=page.project,
        name=form.cleaned_data["name"],
        may_read_raw=kind == "raw",
        scope=ApiToken.Scope.SOURCEMAPS if kind == "sourcemaps" else ApiToken.Scope.READ,
    )
    page.log_change("token created:", token.prefix, kind)
    return token, clear


def write_command(page: SettingsRequest, token: ApiToken, clear: str) -> str:
    """Returns a shell command that tests the token."""
    name = "api-sourcemaps" if token.scope == ApiToken.Scope.SOURCEMAPS else "api-status"
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
