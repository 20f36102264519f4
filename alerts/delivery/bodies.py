"""What each kind of channel gets: JSON for webhooks, blocks for Slack, a card for Teams, text for mail."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any, Final
from uuid import UUID

import msgspec

from alerts.delivery.links import Links
from alerts.delivery.wording import Said
from alerts.models import AlertRule, StateChange
from profcore.alerts.states import State
from projects.models import Project

# Slack takes 50 blocks, and people read a few. The page that the message links to has all changes; so has a webhook.
SHOWN_CHANGES: Final = 10
# Of a text (https://docs.slack.dev/reference/block-kit/composition-objects/text-object). A change is a headline and up
# to five lines with their labels. Escapes are up to five times as long as what they stand for.
MAX_SLACK_CHARS: Final = 3_000
MAX_SLACK_LINE_CHARS: Final = 480
SLACK_ESCAPES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}

Json = dict[str, Any]  # Any: JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedChange:
    """One change with its wording and links."""

    change: StateChange
    alert: AlertRule | None
    said: Said
    links: Links
    owners: Sequence[str] = ()

    @property
    def key(self) -> str:
        """The key of its subject, for addresses."""
        return bytes(self.change.subject_key).hex()


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A message before it has a form. It depends on stored rows only, so each attempt sends the same."""

    id: UUID
    project: Project
    title: str
    created_at: datetime
    changes: Sequence[DescribedChange]
    history: str
    is_test: bool = False

    @property
    def note(self) -> str:
        """The text without changes; empty if there are changes."""
        if self.is_test:
            return "This is a test. Messages of this project arrive here."
        return "" if self.changes else "The history of these changes was deleted."

    @property
    def more(self) -> int:
        """How many changes are not shown to people."""
        return max(len(self.changes) - SHOWN_CHANGES, 0)


def write_webhook(letter: Letter) -> bytes:
    """Returns the body of a webhook. Its fields are a contract (docs/alerts.md)."""
    body = {
        "type": "fieldflame.test" if letter.is_test else "fieldflame.states_changed",
        "id": str(letter.id),
        "timestamp": _moment(letter.created_at),
        "data": {
            "project": {"slug": letter.project.slug, "name": letter.project.name},
            "title": letter.title,
            "history_url": letter.history,
            "changes": [encode_change(change) for change in letter.changes],
        },
    }
    return msgspec.json.encode(body)


def encode_change(described: DescribedChange) -> Json:
    """Returns a change for JSON: of webhooks, and of the read API."""
    change, alert = described.change, described.alert
    return {
        "id": change.id,
        "alert": {"id": change.alert_id, "kind": alert.kind, "name": alert.name} if alert else None,
        "key": described.key,
        "state": State(change.state).name.lower(),
        "was": State(change.was).name.lower(),
        "cause": str(change.cause),
        "at": _moment(change.at),
        "began_at": _moment(change.began_at) if change.began_at else None,
        "release": change.release or None,
        "base_release": change.base_release or None,
        "about_release": change.about_release or None,
        "page": change.page,
        "subject": change.subject or None,
        "value": change.value,
        "ci95": [change.low, change.high] if change.low is not None else None,
        "relative": change.relative,
        "threshold": change.threshold,
        "q": change.q,
        "bound": change.bound,
        "look": change.look,
        "views": [change.base_views, change.views],
        "culprit": change.culprit,
        "party": change.party,
        "owners": list(described.owners),
        "text": described.said.headline,
        "url": described.links.slice,
        "profile_url": described.links.profile or None,
    }


def write_slack(letter: Letter) -> bytes:
    """Returns a body for an incoming webhook of Slack.

    Links are in blocks of their own, so that no name can take their room. They are no buttons: Slack would show a
    warning on each, since an incoming webhook cannot answer to their being pressed.
    """
    blocks: list[Json] = [_slack_text(f"*{_slack(letter.title)}*")]
    if letter.note:
        blocks.append(_slack_text(letter.note))
    for change in letter.changes[:SHOWN_CHANGES]:
        lines = [f"*{_slack(change.said.headline)}*"]
        lines += [f"{label}: {_slack(text)}" for label, text in change.said.lines()]
        blocks.append(_slack_text("\n".join(lines)))
        blocks += _slack_links(list_links(change))
    if letter.more:
        blocks += _slack_links([(f"{letter.more} more changes", letter.history)])
    return msgspec.json.encode({"text": _slack(letter.title), "blocks": blocks})


def _slack_text(text: str) -> Json:
    """Returns a block of text. `verbatim`: nothing that is not marked as one becomes a link or a mention."""
    return {"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}}


def _slack_links(links: Sequence[tuple[str, str]]) -> list[Json]:
    """Returns a block for each link. One that is too long is left out: Slack would refuse the whole message."""
    written = [f"<{''.join(_escape(url))}|{word}>" for word, url in links]
    return [_slack_text(link) for link in written if len(link) <= MAX_SLACK_CHARS]


def _escape(text: str) -> list[str]:
    return [SLACK_ESCAPES.get(char, char) for char in text]


def _slack(text: str) -> str:
    """Returns a line with Slack's marks escaped. One that is too long is cut between two escapes."""
    escaped = _escape(text)
    ends = list(accumulate(map(len, escaped)))
    if not ends or ends[-1] <= MAX_SLACK_LINE_CHARS:
        return "".join(escaped)
    return "".join(escaped[: bisect_right(ends, MAX_SLACK_LINE_CHARS - 1)]) + "…"


def write_teams(letter: Letter) -> bytes:
    """Returns a body for a workflow of Teams that is started by a webhook: an adaptive card.

    Clients of Teams differ in how they read Markdown and its escapes, so names are in runs of text, which have no
    markup.
    """
    items: list[Json] = [_write_runs((letter.title, True), size="Medium")]
    if letter.note:
        items.append(_write_runs((letter.note, False)))
    for change in letter.changes[:SHOWN_CHANGES]:
        items.append(_write_runs((change.said.headline, True), separator=True))
        items += [
            _write_runs((f"{label}: ", True), (text, False), spacing="None") for label, text in change.said.lines()
        ]
        items += _write_links(list_links(change))
    if letter.more:
        items += _write_links([(f"{letter.more} more changes", letter.history)])
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": items,
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "content": card}
    return msgspec.json.encode({"type": "message", "attachments": [attachment]})


def _write_runs(*parts: tuple[str, bool], size: str = "Default", **options: object) -> Json:
    """Returns a line of texts, each with whether it is bold."""
    runs = [
        {"type": "TextRun", "text": text, "size": size, "weight": "Bolder" if is_bold else "Default"}
        for text, is_bold in parts
    ]
    return {"type": "RichTextBlock", "inlines": runs, **options}


def _write_links(links: Sequence[tuple[str, str]]) -> list[Json]:
    """Returns links as buttons. None without FIELDFLAME_ADDRESS: a card with half an address is refused."""
    actions = [{"type": "Action.OpenUrl", "title": word, "url": url} for word, url in links if "://" in url]
    return [{"type": "ActionSet", "actions": actions}] if actions else []


def write_mail(letter: Letter) -> str:
    """Returns the text of a mail."""
    parts = []
    for change in letter.changes[:SHOWN_CHANGES]:
        lines = [change.said.headline, *(f"  {label}: {text}" for label, text in change.said.lines())]
        lines += [f"  {word}: {url}" for word, url in list_links(change)]
        parts.append("\n".join(lines))
    if letter.note:
        parts.append(letter.note)
    more = f"{letter.more} more changes, and all others: " if letter.more else "All changes: "
    return "\n\n".join([*parts, f"{more}{letter.history}\n"])


def list_links(described: DescribedChange) -> list[tuple[str, str]]:
    """Returns the links of a change with their words."""
    links = [("Compare" if described.change.base_release else "Show", described.links.slice)]
    if described.links.profile:
        links.append(("Difference in the Firefox Profiler", described.links.profile))
    return links


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
