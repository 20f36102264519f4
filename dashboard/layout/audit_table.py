"""The table of the log of administration, and its export, for a project's admins and for superusers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict, StreamingHttpResponse

from projects.audit.acts import Act
from projects.audit.entries import iter_lines
from projects.models import AuditEntry

PAGE_ROWS: Final = 100
ABOUT_CHARS: Final = 160  # of one value; the export has all of it
KINDS: Final = {
    "user": "",
    "token": "token",
    "command": "command",
    "provider": "single sign-on",
    "server": "the server",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One entry for people. `who` and values of `about` are texts that people chose."""

    entry: AuditEntry
    what: str
    kind: str
    about: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditTable:
    """A page of the log. `older` is the address of the next one, empty at the end."""

    rows: Sequence[AuditRow]
    choices: Sequence[tuple[str, str, bool]]
    export: str
    older: str
    is_first: bool


def read_table(entries: QuerySet[AuditEntry], params: QueryDict, *, export: str) -> AuditTable:
    """Returns a page of entries, the newest first: of one kind of act, and before an entry, if `params` says so."""
    act = read_act(params)
    before = params.get("before", "")
    wanted = narrow(entries, act)
    if before.isascii() and before.isdigit() and len(before) < 19:
        wanted = wanted.filter(pk__lt=int(before))
    rows = list(wanted[: PAGE_ROWS + 1])
    chosen = {"act": act} if act else {}
    older = ""
    if len(rows) > PAGE_ROWS:
        older = "?" + urlencode(chosen | {"before": str(rows[PAGE_ROWS - 1].pk)})
    return AuditTable(
        rows=[describe(entry) for entry in rows[:PAGE_ROWS]],
        choices=[(choice.value, name_act(choice), choice == act) for choice in Act],
        export=export + ("?" + urlencode(chosen) if chosen else ""),
        older=older,
        is_first=not before,
    )


def stream_lines(entries: QuerySet[AuditEntry], params: QueryDict, *, file_name: str) -> HttpResponse:
    """Answers with entries as lines of JSON, oldest first."""
    lines = (line.encode() for line in iter_lines(narrow(entries, read_act(params))))
    response = StreamingHttpResponse(lines, content_type="application/x-ndjson")
    response["Content-Disposition"] = f'attachment; filename="{file_name}"'
    return response  # type: ignore[return-value]  # as a response in all that pages need


def read_act(params: QueryDict) -> str:
    """Returns the chosen kind of act; empty for all, and for one that does not exist."""
    act = params.get("act", "")
    return act if act in set(Act) else ""


def narrow(entries: QuerySet[AuditEntry], act: str) -> QuerySet[AuditEntry]:
    return entries.filter(act=act) if act else entries


def name_act(act: str) -> str:
    """Returns the words for an act: `member.role_changed` is "Member role changed"."""
    return act.replace(".", " ").replace("_", " ").capitalize()


def describe(entry: AuditEntry) -> AuditRow:
    about = [(name.replace("_", " "), write_value(value)) for name, value in entry.about.items() if value != ""]
    return AuditRow(
        entry=entry, what=name_act(entry.act), kind=KINDS.get(entry.actor_kind, entry.actor_kind), about=about
    )


def write_value(value: object) -> str:
    """Returns a value for people: a user by name, and other things as short JSON."""
    if isinstance(value, Mapping) and set(value) == {"id", "name"}:
        text = str(value["name"])
    elif isinstance(value, str):
        text = value
    elif value is None:
        text = "none"
    elif isinstance(value, list) and all(isinstance(member, str) for member in value):
        text = ", ".join(value) or "none"
    else:
        text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= ABOUT_CHARS else text[: ABOUT_CHARS - 1] + "…"
