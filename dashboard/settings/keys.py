"""Keys and origins: the public keys of a project, whence each may be used, and the end of one."""

from datetime import UTC, datetime, timedelta
from typing import Final

from django import forms
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse

from aggregate.selectors.projects import count_refused
from dashboard.onboarding import HEADER, write_tag
from dashboard.settings.forms import SettingsForm, read_lines
from dashboard.settings.frame import Desk, settings_page
from ingest.keys import CACHE_S
from ingest.models import IngestKey
from ingest.project_keys import MAX_ORIGINS, change_origins, create_key, revoke_key
from profcore.errors import Reason

ORIGIN_CHARS: Final = 300  # a line of the form; the rule's own limit is a little less, and says so
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
            "One a line. https://*.shop.example stands for all subdomains of a site, and * for any origin. "
            "Without any, no browser can send; servers and command lines, which name no origin, always can."
        ),
    )


@settings_page("settings-keys")
def show_keys(desk: Desk) -> HttpResponse:
    form = OriginsForm(desk.request.POST if desk.has_posted else None)
    if form.is_bound and form.is_valid():
        try:
            key = create_key(project=desk.project, origins=read_lines(form.cleaned_data["origins"]))
        except ValidationError as error:
            form.blame(error)
        else:
            desk.tell("key made:", key.pk)
            return desk.leave("The key is made. Put its tag into your pages.")
    base_url = desk.request.build_absolute_uri("/").rstrip("/")
    keys = IngestKey.objects.filter(project=desk.project).order_by("-pk")
    since = datetime.now(UTC) - timedelta(days=REFUSED_DAYS)
    return desk.show(
        "keys",
        status=400 if form.is_bound else 200,
        form=form,
        live=[(key, write_tag(base_url, key.public_key)) for key in keys if key.revoked_at is None],
        revoked=[key for key in keys if key.revoked_at is not None],
        header=HEADER,
        refused=count_refused(desk.project.pk, Reason.ORIGIN_NOT_ALLOWED, since),
        refused_days=REFUSED_DAYS,
    )


@settings_page("settings-keys", for_admins=True)
def change_key(desk: Desk, key_id: int) -> HttpResponse:
    key = find_live_key(desk, key_id)
    form = OriginsForm(
        desk.request.POST if desk.has_posted else None, initial={"origins": "\n".join(key.origins)}, auto_id="key_%s"
    )
    if form.is_bound and form.is_valid():
        try:
            change_origins(key, read_lines(form.cleaned_data["origins"]))
        except ValidationError as error:
            form.blame(error)
        else:
            desk.tell("origins changed of key", key.pk)
            return desk.leave(f"The origins are saved. They hold within {CACHE_S:.0f} seconds.")
    return desk.show("key", status=400 if form.is_bound else 200, form=form, key=key)


@settings_page("settings-keys", for_admins=True)
def end_key(desk: Desk, key_id: int) -> HttpResponse:
    key = find_live_key(desk, key_id)
    if desk.has_posted:
        revoke_key(key)
        desk.tell("key revoked:", key.pk)
        return desk.leave(f"The key is revoked. Nothing sent with it is taken after {CACHE_S:.0f} seconds.")
    others = IngestKey.objects.filter(project=desk.project, revoked_at=None).exclude(pk=key.pk).count()
    return desk.show("key_end", key=key, others=others, cache_s=CACHE_S)


def find_live_key(desk: Desk, key_id: int) -> IngestKey:
    """Returns a live key of the project. Raises `Http404` for those of others, and for revoked ones."""
    key = IngestKey.objects.filter(project=desk.project, pk=key_id, revoked_at=None).first()
    if key is None:
        raise Http404("There is no such key.")
    return key
