"""API tokens: what programs read the project by, or upload its source maps by. Shown once, kept as a digest."""

import shlex
from typing import Final

from django import forms
from django.http import Http404, HttpResponse
from django.urls import reverse
from django.utils.cache import add_never_cache_headers

from dashboard.settings.forms import SettingsForm
from dashboard.settings.frame import Desk, settings_page
from ingest.models import ApiToken
from ingest.services import create_token, revoke_token

NAME_CHARS: Final = 80  # as the table has it
KINDS: Final = (
    ("read", "Read the project: its numbers, profiles and exports"),
    ("raw", "Read all of it, raw traces with their full addresses too"),
    ("sourcemaps", "Upload source maps, and nothing else"),
)


class TokenForm(SettingsForm):
    name = forms.CharField(
        label="What it is for",
        max_length=NAME_CHARS,
        widget=forms.TextInput(attrs={"autocomplete": "off", "placeholder": "CI of the shop"}),
    )
    kind = forms.ChoiceField(label="What it may do", choices=KINDS, initial="read")


@settings_page("settings-tokens")
def show_tokens(desk: Desk) -> HttpResponse:
    form = TokenForm(desk.request.POST if desk.has_posted else None)
    made, clear = None, ""
    if form.is_bound and form.is_valid():
        made, clear = make_token(desk, form)
        form = TokenForm()
    tokens = list(ApiToken.objects.filter(project=desk.project).order_by("-pk"))
    response = desk.show(
        "tokens",
        status=400 if form.is_bound else 200,
        form=form,
        made=made,
        clear=clear,
        command=write_command(desk, made, clear) if made else "",
        live=[token for token in tokens if token.revoked_at is None],
        revoked=[token for token in tokens if token.revoked_at is not None],
    )
    if made:
        add_never_cache_headers(response)
    return response


def make_token(desk: Desk, form: TokenForm) -> tuple[ApiToken, str]:
    """Creates a token. The answer itself shows it: to redirect, its clear text would have to be kept somewhere."""
    kind = form.cleaned_data["kind"]
    token, clear = create_token(
        project=desk.project,
        name=form.cleaned_data["name"],
        may_read_raw=kind == "raw",
        scope=ApiToken.Scope.SOURCEMAPS if kind == "sourcemaps" else ApiToken.Scope.READ,
    )
    desk.tell("token made:", token.prefix, kind)
    return token, clear


def write_command(desk: Desk, token: ApiToken, clear: str) -> str:
    """Returns a shell command that shows that the token works."""
    name = "api-sourcemaps" if token.scope == ApiToken.Scope.SOURCEMAPS else "api-status"
    address = desk.request.build_absolute_uri(reverse(name, args=[desk.project.slug]))
    return f"curl -H 'Authorization: Bearer {clear}' {shlex.quote(address)}"


@settings_page("settings-tokens", for_admins=True)
def end_token(desk: Desk, prefix: str) -> HttpResponse:
    token = ApiToken.objects.filter(project=desk.project, prefix=prefix, revoked_at=None).first()
    if token is None:
        raise Http404("There is no such token.")
    if desk.has_posted:
        revoke_token(project=desk.project, prefix=prefix)
        desk.tell("token revoked:", prefix)
        return desk.leave("The token is revoked, and the links it made have ended.")
    return desk.show("token_end", token=token)
