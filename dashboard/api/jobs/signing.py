"""Signed, expiring links to exports, for viewers that fetch without cookies.

Anyone with a link can fetch its one export until the link expires, or until its creator can no longer read the
project. Nothing is stored; a change of the secret key ends all links at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from urllib.parse import quote, urlencode

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.http import QueryDict
from django.urls import reverse

from dashboard.api.jobs.preparation import make_params
from dashboard.web.access import Reader, visible_projects
from projects.models import ApiToken, Project
from projects.tokens import live_tokens

SALT: Final = "fieldflame.export-link"
VIEWED_FORMAT: Final = "firefox"
# The tracks of a difference's file: the changes first, then head and base (profcore.formats.firefox).
HEAD_THREAD, BASE_THREAD = 1, 2
URL_VERSION: Final = 10  # the version of the viewer's addresses; it upgrades older ones and refuses newer ones


class DeadLink(Exception):
    """The link is invalid: it was not signed here, or its project is gone."""


class EndedLink(DeadLink):
    """The link has expired, or its creator lost access."""


@dataclass(frozen=True, slots=True)
class ReadLink:
    """The content of a link: a project, and the parameters of its export."""

    project: Project
    params: QueryDict


def sign_link(
    project: Project, params: Sequence[tuple[str, str]], expires_at: datetime, file_name: str, *, maker: Reader
) -> str:
    """Returns the path of an export, valid until `expires_at` (whole seconds). It ends with the file's name.

    `maker` is the user or token that requested it.
    """
    payload = [project.pk, int(expires_at.timestamp()), urlencode(params), isinstance(maker, ApiToken), maker.pk]
    return reverse("shared-profile", args=[signing.dumps(payload, salt=SALT, compress=True), file_name])


def read_link(token: str, now: datetime) -> ReadLink:
    """Returns the content of a link's token. Raises `EndedLink` or `DeadLink`."""
    try:
        project_id, expires_s, query, is_token, maker_id = signing.loads(token, salt=SALT)
    except (signing.BadSignature, ValueError) as error:
        raise DeadLink("This link is not valid, or it is incomplete.") from error
    if now >= datetime.fromtimestamp(expires_s, UTC):
        raise EndedLink("This link has expired. Ask the person who sent it for a new one.")
    project = Project.objects.filter(pk=project_id).first()
    if project is None:
        raise DeadLink("The project of this link is gone.")
    maker = _find_maker(maker_id, is_token=is_token)
    if maker is None or not visible_projects(maker).filter(pk=project_id).exists():
        raise EndedLink("The creator of this link can no longer read the project. Its members can create a new one.")
    return ReadLink(project, make_params([(n, v) for n, values in QueryDict(query).lists() for v in values]))


def _find_maker(maker_id: int, *, is_token: bool) -> Reader | None:
    """Returns a token that is neither revoked nor expired, or a user who may log in."""
    if is_token:
        return live_tokens(datetime.now(UTC)).filter(pk=maker_id).first()
    return User.objects.filter(pk=maker_id, is_active=True).first()


def default_expiry(now: datetime) -> datetime:
    """Returns when a link expires by default."""
    return now + timedelta(seconds=settings.EXPORT_LINK_DEFAULT_S)


def viewer_url(url: str, name: str, *, is_difference: bool) -> str:
    """Returns the viewer's address that opens an export by its public address; for a difference, both sides."""
    if not is_difference:
        return f"{_from_url(url)}?{urlencode({'profileName': name, 'v': URL_VERSION}, quote_via=quote)}"
    sides = [f"{_from_url(url)}?thread={thread}&v={URL_VERSION}" for thread in (BASE_THREAD, HEAD_THREAD)]
    query = urlencode(
        [*(("profiles[]", side) for side in sides), ("profileName", name), ("v", str(URL_VERSION))],
        safe="[]",
        quote_via=quote,
    )
    return f"{settings.VIEWER_ORIGIN}/compare/calltree/?{query}"


def _from_url(url: str) -> str:
    return f"{settings.VIEWER_ORIGIN}/from-url/{quote(url, safe='')}/calltree/"
