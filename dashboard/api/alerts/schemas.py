"""The bodies of requests about alerts and channels, as typed values. A wrong field is named."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from django.core.exceptions import ValidationError

from alerts.channels import MAX_OWNERS, MAX_PATTERN_CHARS, MAX_PATTERNS, MAX_RECIPIENTS, Terms, write_minutes
from alerts.models import AlertRule, Channel
from alerts.queries import MEASURES, SUBJECTS, AlertQuery, clean_alert_query
from alerts.rules import MAX_NAME_CHARS
from dashboard.web.params import ParamError, read_changes
from profcore.code.owners import MAX_OWNER_CHARS
from profcore.trace.dimensions import DEVICE_CLASSES

ALERT_FIELDS: Final = ("kind", "name", "question", "is_on")
PREVIEW_FIELDS: Final = ("kind", "question")
SWITCHES: Final = ("is_on", "tells_suspected", "is_digest")
TIMES: Final = ("quiet_from", "quiet_to")
CHANNEL_FIELDS: Final = ("kind", "name", "addresses", *SWITCHES, *TIMES, "time_zone", "alerts", "pages", "owners")
TIME: Final = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
MAX_SENT_ADDRESSES: Final = 4 * MAX_RECIPIENTS  # before repeated ones are left out

Given = Mapping[str, Any]  # Any: JSON, checked here

TEXT: Final = {"type": "string"}
MAYBE: Final = {"type": "string", "nullable": True}
SWITCH: Final = {"type": "boolean"}
# JSON Schemas, for the OpenAPI document.
QUESTION: Final[dict[str, Any]] = {  # Any: as above
    "type": "object",
    "description": "Not for the alert on releases.",
    "properties": {
        "measure": {"type": "string", "enum": list(MEASURES)},
        "limit": {"type": "number", "description": "ms; of a share, a number up to 1; of hangs, reports a day."},
        "page": {**MAYBE, "description": "A page's route; absent means all."},
        "device": {"type": "string", "nullable": True, "enum": [*DEVICE_CLASSES, None]},
        "by": {"type": "string", "nullable": True, "enum": [*SUBJECTS, None]},
        "name": {**MAYBE, "description": "Of the function, package or party whose share it is."},
    },
    "required": ["limit"],
    "additionalProperties": False,
}
KIND: Final[dict[str, Any]] = {"type": "string", "enum": list(AlertRule.Kind.values)}  # Any: as above
PREVIEW: Final[dict[str, Any]] = {  # Any: as above
    "type": "object",
    "properties": {"kind": KIND, "question": QUESTION},
    "required": list(PREVIEW_FIELDS),
    "additionalProperties": False,
}
ALERT: Final[dict[str, Any]] = {  # Any: as above
    "type": "object",
    "properties": {
        "kind": KIND,
        "name": {**TEXT, "maxLength": MAX_NAME_CHARS},
        "question": {**QUESTION, "nullable": True},
        "is_on": SWITCH,
    },
    "additionalProperties": False,
}
CHANNEL: Final[dict[str, Any]] = {  # Any: as above
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": list(Channel.Kind.values)},
        "name": {**TEXT, "maxLength": MAX_NAME_CHARS},
        "addresses": {
            "type": "array",
            "items": TEXT,
            "maxItems": MAX_RECIPIENTS,
            "description": "One, or several of mail. Never answered.",
        },
        **dict.fromkeys(SWITCHES, SWITCH),
        **{name: {**MAYBE, "description": "A time of the day such as 22:00."} for name in TIMES},
        "time_zone": TEXT,
        "alerts": {
            "type": "array",
            "items": {"oneOf": [TEXT, {"type": "integer"}]},
            "nullable": True,
            "description": "Slugs or ids of the alerts that it gets messages of; null means all.",
        },
        "pages": {
            "type": "array",
            "items": {**TEXT, "maxLength": MAX_PATTERN_CHARS},
            "maxItems": MAX_PATTERNS,
            "nullable": True,
            "description": "Pages that it gets messages about; `*` is any text. Null means all.",
        },
        "owners": {
            "type": "array",
            "items": {**TEXT, "maxLength": MAX_OWNER_CHARS},
            "maxItems": MAX_OWNERS,
            "nullable": True,
            "description": "Owners of the functions that it gets messages about. Null means all, and whole pages.",
        },
    },
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertBody:
    """An alert as a client wants it, with its checked question."""

    kind: str
    name: str
    question: dict[str, Any]  # Any: JSON, as rows have it
    is_on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelBody:
    """A channel as a client wants it. Without addresses it keeps those that it has.

    `alerts` are those that the body names, None if it names none; the terms have what is kept.
    """

    kind: str
    name: str
    addresses: list[str] | None
    terms: Terms
    alerts: list[str | int] | None


def read_alert(body: object, kept: Given) -> AlertBody:
    """Returns the alert of a body. What is absent comes from `kept`. Raises `ParamError`."""
    fields = {"is_on": True, **kept, **read_changes(body, ALERT_FIELDS)}
    kind = _read_text(fields, "kind")
    name, is_on = _read_text(fields, "name"), _read_switch(fields, "is_on")
    return AlertBody(kind=kind, name=name, question=read_question_of(kind, fields.get("question")), is_on=is_on)


def read_question_of(kind: str, question: object) -> dict[str, Any]:  # Any: JSON, as rows have it
    """Returns the checked question of a kind of alert. Raises `ParamError`."""
    if kind == AlertRule.Kind.RELEASE:
        if question not in (None, {}):
            raise ParamError("question", "The alert on new releases asks nothing else.")
        return {}
    if kind not in AlertRule.Kind.values:
        raise ParamError("kind", f"kind must be one of {', '.join(AlertRule.Kind.values)}.")
    if not isinstance(question, dict):
        raise ParamError("question", "question must be a JSON object.")
    for name, value in question.items():
        if name not in AlertQuery.__slots__:
            known = ", ".join(AlertQuery.__slots__)
            raise ParamError(f"question.{name}"[:80], f"{name[:80]} is not known; known are {known}.")
        if name != "limit" and value is not None and not isinstance(value, str):
            raise ParamError(f"question.{name}", f"{name} must be a text, or null.")
    with naming_fields("question."):
        return clean_alert_query(kind, question)


def read_channel(body: object, kept: Given) -> ChannelBody:
    """Returns the channel of a body. What is absent comes from `kept`. Raises `ParamError`."""
    changes = read_changes(body, CHANNEL_FIELDS)
    fields = {**write_terms(Terms()), **kept, **changes}
    kept_ids = fields["alerts"] if "alerts" not in changes else None
    keeps_addresses = bool(kept) and "addresses" not in fields
    addresses = None if keeps_addresses else _read_addresses(fields.get("addresses"))
    terms = Terms(
        is_on=_read_switch(fields, "is_on"),
        tells_suspected=_read_switch(fields, "tells_suspected"),
        is_digest=_read_switch(fields, "is_digest"),
        quiet_from=_read_time(fields, "quiet_from"),
        quiet_to=_read_time(fields, "quiet_to"),
        time_zone=_read_text(fields, "time_zone"),
        alert_ids=None if kept_ids is None else tuple(kept_ids),
        pages=None if fields.get("pages") is None else tuple(_read_texts(fields, "pages", MAX_PATTERNS)),
        owners=None if fields.get("owners") is None else tuple(_read_texts(fields, "owners", MAX_OWNERS)),
    )
    kind, name = _read_text(fields, "kind"), _read_text(fields, "name")
    return ChannelBody(kind=kind, name=name, addresses=addresses, terms=terms, alerts=_read_alerts(changes))


def write_terms(terms: Terms | Channel) -> dict[str, Any]:  # Any: JSON
    """Returns terms as bodies and answers have them."""
    written = {name: getattr(terms, name) for name in (*SWITCHES, "time_zone")}
    written |= {name: write_minutes(getattr(terms, name)) or None for name in TIMES}
    lists = {"alerts": terms.alert_ids, "pages": terms.pages, "owners": terms.owners}
    return written | {name: _write_list(values) for name, values in lists.items()}


def _write_list(values: Sequence[Any] | None) -> list[Any] | None:  # Any: JSON
    return None if values is None else list(values)


@contextmanager
def naming_fields(prefix: str = "") -> Iterator[None]:
    """Raises what a service says of a field as a `ParamError`."""
    try:
        yield
    except ValidationError as error:
        field, texts = next(iter(error.message_dict.items()))
        raise ParamError(f"{prefix}{field}", " ".join(texts)) from None


def _read_text(fields: Given, field: str) -> str:
    text = fields.get(field)
    if not isinstance(text, str):
        raise ParamError(field, f"{field} must be a text.")
    return text


def _read_switch(fields: Given, field: str) -> bool:
    value = fields.get(field)
    if not isinstance(value, bool):
        raise ParamError(field, f"{field} must be true or false.")
    return value


def _read_time(fields: Given, field: str) -> int | None:
    text = fields.get(field)
    if text is None:
        return None
    match = TIME.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ParamError(field, f"{field} must be a time of the day such as 22:00, or null.")
    return int(match[1]) * 60 + int(match[2])


def _read_alerts(fields: Given) -> list[str | int] | None:
    names = fields.get("alerts")
    if names is None:
        return None
    if not isinstance(names, list) or not all(type(item) in (int, str) for item in names):
        raise ParamError("alerts", "alerts must be a list of slugs or ids, or null for all.")
    return names


def _read_texts(fields: Given, field: str, most: int) -> list[str]:
    texts = fields.get(field)
    if not isinstance(texts, list) or not all(isinstance(item, str) for item in texts):
        raise ParamError(field, f"{field} must be a list of texts.")
    if len(texts) > most:
        raise ParamError(field, f"At most {most} {field} are accepted.")
    return texts


def _read_addresses(addresses: object) -> list[str]:
    if not isinstance(addresses, list) or not all(isinstance(item, str) for item in addresses):
        raise ParamError("addresses", "addresses must be a list of texts.")
    if len(addresses) > MAX_SENT_ADDRESSES:
        raise ParamError("addresses", f"At most {MAX_RECIPIENTS} addresses are accepted.")
    return addresses
