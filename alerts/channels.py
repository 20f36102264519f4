"""The channels of a project, to which messages go: creating, changing and deleting them."""

import base64
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address, ip_network
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from aggregate.doctor.addresses import Network, RefusedAddress, may_visit, split_url
from alerts.models import AlertRule, Channel, Message, Notice
from alerts.rules import NUMBER, RELEASE_ALERT_ID, RELEASE_SLUG, SLUG, clean_name, clean_slug
from alerts.sealing import SealBroken, Sealed, open_seal, seal
from ingest.storage.groups import allocate_ids
from profcore.code.owners import MAX_OWNER_CHARS
from projects.audit.acts import Act
from projects.audit.entries import record
from projects.models import Project

MAX_RECIPIENTS: Final = 20  # of one mail: more is a mailing list, which has an address of its own
SECRET_BYTES: Final = 32
SECRET_PREFIX: Final = "whsec_"  # noqa: S105  # the prefix of https://www.standardwebhooks.com
DAY_MINUTES: Final = 24 * 60
MAX_HINT_CHARS: Final = 255
MAX_OWNERS: Final = 50  # of one channel
MAX_PATTERNS: Final = 50  # of pages, for one channel: each change is matched with all of them
MAX_PATTERN_CHARS: Final = 500
LOCAL_PART: Final = re.compile(r"([^\s<>,;:'\"@])[^\s<>,;:'\"@]*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """When a channel gets messages, and about what. Quiet hours are minutes of the day, both or neither.

    Without `alert_ids` it gets those of all alerts, without `pages` those about all pages, and without `owners` those
    about all functions, and about whole pages.
    """

    is_on: bool = True
    tells_suspected: bool = False
    is_digest: bool = False
    quiet_from: int | None = None
    quiet_to: int | None = None
    time_zone: str = "UTC"
    alert_ids: tuple[int, ...] | None = None
    pages: tuple[str, ...] | None = None
    owners: tuple[str, ...] | None = None


def write_minutes(minutes: int | None) -> str:
    """Returns a time of the day such as 22:00, empty for None."""
    return "" if minutes is None else f"{minutes // 60:02}:{minutes % 60:02}"


def find_channel(project_id: int, called: str) -> Channel | None:
    """Returns a channel by its id or slug, None if there is no such channel."""
    channels = Channel.objects.filter(project_id=project_id)
    if NUMBER.fullmatch(called):
        return channels.filter(id=int(called)).first()
    return channels.filter(slug=called).first() if SLUG.fullmatch(called) else None


def create_channel(
    *,
    project: Project,
    kind: str,
    name: str,
    addresses: Sequence[str],
    terms: Terms,
    now: datetime,
    slug: str | None = None,
) -> tuple[Channel, str]:
    """Creates a channel, and returns it with the secret of a webhook, which is never shown again; empty for others.

    Raises `ValidationError` for the fields of a channel.
    """
    if kind not in Channel.Kind.values:
        raise ValidationError({"kind": f"{kind[:20]!r} is not one of {', '.join(Channel.Kind.values)}."})
    cleaned = clean_addresses(kind, addresses)
    check_terms(terms)
    secret = make_secret() if kind == Channel.Kind.WEBHOOK else ""
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)  # two at the same time count one by one
        if Channel.objects.filter(project_id=project.pk).count() >= settings.ALERTS_MAX_CHANNELS:
            raise ValidationError({"name": f"A project has at most {settings.ALERTS_MAX_CHANNELS} channels."})
        number = allocate_ids(project.pk, "channel", 1)[0]
        channel = Channel(project=project, id=number, kind=kind, name=clean_name(name), slug=slug)
        channel.created_at, channel.hint = now, write_hint(kind, cleaned)
        channel.sealed = seal(Sealed(cleaned, secret))
        _set_terms(channel, terms)
        channel.save(force_insert=True)
        record(Act.CHANNEL_CREATED, project=project, channel=channel.id, kind=kind, name=channel.name)
    return channel, secret


def put_channel(
    *, project: Project, called: str, kind: str, name: str, addresses: Sequence[str] | None, terms: Terms, now: datetime
) -> tuple[Channel, str, bool]:
    """Makes a channel of this slug or id what is given. Twice is as once. Without addresses it keeps those it has.

    Returns it, the secret of a new webhook, and whether it was created. Raises `Channel.DoesNotExist` for an id that no
    channel has, and `ValidationError` for a field, or for `slug`.
    """
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)  # of two at the same time, one creates it
        channel = find_channel(project.pk, called)
        if channel is None:
            slug = clean_slug(called, Channel.DoesNotExist)
            made, secret = create_channel(
                project=project, kind=kind, name=name, addresses=addresses or (), terms=terms, now=now, slug=slug
            )
            return made, secret, True
        if kind != channel.kind:
            raise ValidationError({"kind": f"This channel has the kind {channel.kind}. Create another one."})
        return channel, change_channel(channel, name=name, terms=terms, addresses=addresses), False


def change_channel(
    channel: Channel, *, name: str, terms: Terms, addresses: Sequence[str] | None = None, renews_secret: bool = False
) -> str:
    """Changes a channel; without addresses it keeps those that it has. Returns a renewed secret, else nothing.

    Raises `ValidationError`, and `SealBroken` if the kept addresses cannot be read.
    """
    check_terms(terms)
    cleaned = clean_name(name)
    renews_secret = renews_secret and channel.kind == Channel.Kind.WEBHOOK
    with transaction.atomic():
        secret, has_moved = "", False
        if addresses is not None or renews_secret:
            secret, has_moved = _seal_anew(channel, addresses, renews_secret=renews_secret)
        if not secret and not has_moved and (channel.name, terms_of(channel)) == (cleaned, terms):
            return ""
        channel.name = cleaned
        _set_terms(channel, terms)
        channel.save()
        record(
            Act.CHANNEL_CHANGED,
            project=channel.project_id,
            channel=channel.id,
            name=channel.name,
            is_on=channel.is_on,
            address=has_moved,
            secret=bool(secret),
        )
    return secret


def _seal_anew(channel: Channel, addresses: Sequence[str] | None, *, renews_secret: bool) -> tuple[str, bool]:
    """Seals other addresses or another secret. Returns the new secret, and whether the addresses are others."""
    before = _open_kept(channel, may_fail=addresses is not None)
    cleaned = before.addresses if addresses is None else clean_addresses(channel.kind, addresses)
    is_signed = channel.kind == Channel.Kind.WEBHOOK
    secret = make_secret() if renews_secret or (is_signed and not before.secret) else ""
    if secret or cleaned != before.addresses:
        channel.sealed = seal(Sealed(cleaned, secret or before.secret))
        channel.hint = write_hint(channel.kind, cleaned)
    return secret, cleaned != before.addresses


def delete_channel(channel: Channel) -> None:
    """Deletes a channel with its log and with what still waits for it."""
    with transaction.atomic():
        of_channel = {"project_id": channel.project_id, "channel_id": channel.id}
        # Gathering locks the channel first, and then its notices.
        Channel.objects.select_for_update().filter(project_id=channel.project_id, id=channel.id).first()
        Notice.objects.filter(**of_channel).delete()
        Message.objects.filter(**of_channel).delete()
        Channel.objects.filter(project_id=channel.project_id, id=channel.id).delete()
        record(Act.CHANNEL_DELETED, project=channel.project_id, channel=channel.id, name=channel.name)


def make_secret() -> str:
    """Returns a new secret for signing, in the form of https://www.standardwebhooks.com."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def clean_addresses(kind: str, addresses: Sequence[str]) -> tuple[str, ...]:
    """Returns the addresses of a channel. Raises `ValidationError` for `addresses`."""
    cleaned = tuple(dict.fromkeys(text for address in addresses if (text := address.strip())))
    if not cleaned:
        raise ValidationError({"addresses": "Give an address."})
    if kind == Channel.Kind.MAIL:
        if len(cleaned) > MAX_RECIPIENTS:
            raise ValidationError({"addresses": f"At most {MAX_RECIPIENTS} addresses are accepted."})
        for address in cleaned:
            try:
                validate_email(address)
            except ValidationError:
                raise ValidationError({"addresses": f"“{address[:80]}” is not an e-mail address."}) from None
        return cleaned
    if len(cleaned) > 1:
        raise ValidationError({"addresses": "Give one address."})
    try:
        target = split_url(cleaned[0])
        if target.port not in settings.WEBHOOK_PORTS:
            raise RefusedAddress(f"Port {target.port} is not allowed (FIELDFLAME_WEBHOOK_PORTS).")
        _refuse_private(target.host)
    except RefusedAddress as error:
        raise ValidationError({"addresses": str(error)}) from None
    return cleaned


def allowed_networks() -> list[Network]:
    """Returns the networks that webhooks may go to though they are not public."""
    return [ip_network(text) for text in settings.WEBHOOK_ALLOW_PRIVATE]


def _refuse_private(host: str) -> None:
    """Refuses a private address that is written as one. Names are looked up when a message is sent."""
    try:
        address = ip_address(host)
    except ValueError:
        return
    if not may_visit(address, allowed_networks()):
        raise RefusedAddress(f"{host} is not a public address; FIELDFLAME_WEBHOOK_ALLOW_PRIVATE can allow it.")


def check_terms(terms: Terms) -> None:
    """Raises `ValidationError` for terms that make no sense."""
    for name in ("quiet_from", "quiet_to"):
        minutes = getattr(terms, name)
        if minutes is not None and not 0 <= minutes < DAY_MINUTES:
            raise ValidationError({name: "Give a time of the day, such as 22:00."})
    if (terms.quiet_from is None) != (terms.quiet_to is None):
        raise ValidationError({"quiet_to": "Give both ends of the quiet hours, or none."})
    if terms.quiet_from is not None and terms.quiet_from == terms.quiet_to:
        raise ValidationError({"quiet_to": "Quiet hours must end at another time. Or switch the channel off."})
    check_pages(terms.pages)
    check_owners(terms.owners)
    try:
        ZoneInfo(terms.time_zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValidationError({"time_zone": "Give a time zone such as Europe/Berlin."}) from None


def check_pages(patterns: Sequence[str] | None) -> None:
    """Raises `ValidationError` for patterns of pages that no page can have, or for too many."""
    if patterns is None:
        return
    if not 0 < len(patterns) <= MAX_PATTERNS:
        raise ValidationError({"pages": f"Give 1 to {MAX_PATTERNS} pages, or none at all for every page."})
    for pattern in patterns:
        if not pattern or len(pattern) > MAX_PATTERN_CHARS or not pattern.isprintable():
            raise ValidationError({"pages": f"A page has 1 to {MAX_PATTERN_CHARS} characters."})


def check_owners(owners: Sequence[str] | None) -> None:
    """Raises `ValidationError` for owners that no rule can name, or for too many."""
    if owners is None:
        return
    if not 0 < len(owners) <= MAX_OWNERS:
        raise ValidationError({"owners": f"Give 1 to {MAX_OWNERS} owners, or none at all for everything."})
    for owner in owners:
        if len(owner.split()) != 1 or len(owner) > MAX_OWNER_CHARS or not owner.isprintable():
            raise ValidationError(
                {"owners": f"An owner is a word of 1 to {MAX_OWNER_CHARS} characters, as in the rules."}
            )


def find_alert_ids(project_id: int, called: Sequence[str | int]) -> tuple[int, ...]:
    """Returns the ids of alerts that are named by their id or slug. Raises `ValidationError` for `alerts`.

    One statement: a project has few alerts.
    """
    if not 0 < len(called) <= settings.ALERTS_MAX_RULES:
        raise ValidationError({"alerts": f"Name 1 to {settings.ALERTS_MAX_RULES} alerts, or null for all."})
    ids: dict[str | int | None, int] = {}
    for alert_id, slug in AlertRule.objects.filter(project_id=project_id).values_list("id", "slug"):
        ids |= {alert_id: alert_id, RELEASE_SLUG if alert_id == RELEASE_ALERT_ID else slug: alert_id}
    alert_ids = set()
    for name in map(str, called):
        number = ids.get(int(name) if NUMBER.fullmatch(name) else name)
        if number is None:
            raise ValidationError({"alerts": f"There is no alert {name[:80]!r}."})
        alert_ids.add(number)
    return tuple(sorted(alert_ids))


def write_hint(kind: str, addresses: Sequence[str]) -> str:
    """Returns what can be shown of addresses, also to members.

    The path of a webhook may be a secret, so only its host is shown, and of a mail address what is behind the @.
    """
    is_mail = kind == Channel.Kind.MAIL
    text = ", ".join(map(_mask_address, addresses)) if is_mail else split_url(addresses[0]).origin + "/…"
    return text if len(text) <= MAX_HINT_CHARS else text[: MAX_HINT_CHARS - 1] + "…"


def _mask_address(address: str) -> str:
    local, _, domain = address.rpartition("@")
    return f"{local[:1]}…@{domain}"


def mask_addresses(text: str) -> str:
    """Returns a text without the names in front of the @ of mail addresses: enough to recognise one's own."""
    return LOCAL_PART.sub(r"\1…@", text)


def _open_kept(channel: Channel, *, may_fail: bool) -> Sealed:
    """Returns what is sealed; nothing if it cannot be opened and `may_fail`, because it is replaced."""
    try:
        return open_seal(channel.sealed)
    except SealBroken:
        if may_fail:
            return Sealed(())
        raise


def _set_terms(channel: Channel, terms: Terms) -> None:
    for name in Terms.__slots__:
        value = getattr(terms, name)
        setattr(channel, name, list(value) if isinstance(value, tuple) else value)


def terms_of(channel: Channel) -> Terms:
    """Returns the terms of a channel."""
    columns = {name: getattr(channel, name) for name in Terms.__slots__}
    lists = {name: None if columns[name] is None else tuple(columns[name]) for name in ("alert_ids", "pages", "owners")}
    return Terms(**{**columns, **lists})
