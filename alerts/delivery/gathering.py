"""From the outbox into messages: what is due for a channel about one release becomes one message."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.urls import reverse

from aggregate.time_budget import end_step
from alerts.changes import alert_at
from alerts.delivery.bodies import DescribedChange, Letter
from alerts.delivery.links import absolute, make_links
from alerts.delivery.wording import clean, say_change, write_title
from alerts.models import AlertRule, Channel, Message, Notice, StateChange
from alerts.outbox import leave_quiet
from alerts.subjects import owners_of
from profcore.alerts.states import State
from profcore.code.issue_links import make_issue_link
from projects.audit.acts import Act
from projects.audit.entries import DAY, HOUR, check_rate, record
from projects.models import AuditEntry, Project

logger = logging.getLogger(__name__)

MAX_CHANGES: Final = 200  # of one message; the next one has the rest
CHANNELS_AT_ONCE: Final = 500


def gather_due(now: datetime) -> int:
    """Puts the notices that are due into messages, and returns how many. It may be killed and run again.

    Whatever is wrong with one channel, others get their messages; its notices wait. Faults of the database are raised.
    """
    made = 0
    for project_id, channel_id in list_due_channels(now):
        try:
            made += gather_channel(project_id, channel_id, now)
        except (OperationalError, InterfaceError):
            raise
        except Exception:
            logger.exception("Messages of channel %s of project %s could not be gathered.", channel_id, project_id)
        end_step()
    return made


def list_due_channels(now: datetime) -> list[tuple[int, int]]:
    """Returns the project and id of channels with notices that are due, of all projects."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT project_id, channel_id FROM alerts_notice WHERE message_id IS NULL AND due_at <= %s
               GROUP BY 1, 2 ORDER BY min(due_at) LIMIT %s""",
            [now, CHANNELS_AT_ONCE],
        )
        return list(cursor.fetchall())


def gather_channel(project_id: int, channel_id: int, now: datetime) -> int:
    """Puts a channel's due notices into one message per release; what waits about these releases goes along.

    Notices of a channel that is gone or off are deleted. In its quiet hours they are put off once more: what an alert
    finds of yesterday, or after the workers were away, may be due in them. One transaction, under the channel's lock.
    """
    with transaction.atomic():
        of_channel = {"project_id": project_id, "channel_id": channel_id}
        channel = Channel.objects.select_for_update().filter(project_id=project_id, id=channel_id).first()
        waiting = Notice.objects.filter(**of_channel, message_id=None)
        if channel is None or not channel.is_on:
            waiting.delete()
            return 0
        if (heard_at := leave_quiet(channel, now)) != now:
            waiting.filter(due_at__lt=heard_at).update(due_at=heard_at)
            return 0
        due = sorted(set(waiting.filter(due_at__lte=now).values_list("release", flat=True)))
        made = 0
        for release in due:
            ids = list(waiting.filter(release=release).order_by("change_id").values_list("change_id", flat=True))
            for start in range(0, len(ids), MAX_CHANGES):
                made += _make_message(channel, ids[start : start + MAX_CHANGES], now)
        return made


def _make_message(channel: Channel, change_ids: list[int], now: datetime) -> bool:
    project = Project.objects.get(pk=channel.project_id)
    changes = select_described(project, change_ids)
    message_id = uuid4()
    Notice.objects.filter(project_id=project.pk, channel_id=channel.id, change_id__in=change_ids).update(
        message_id=message_id
    )
    if not changes:  # their history was deleted meanwhile
        return False
    Message.objects.create(
        project=project,
        id=message_id,
        channel_id=channel.id,
        change_ids=[described.change.id for described in changes],
        title=write_title(project.name, [described.said for described in changes]),
        created_at=now,
        due_at=now,
    )
    return True


def make_test(channel: Channel, now: datetime) -> Message:
    """Makes a message that is about nothing, to see whether it arrives. Raises `TooManyActs`."""
    with transaction.atomic():
        project = _check_asked(channel.project_id)
        record(Act.CHANNEL_TESTED, project=project, channel=channel.id, name=channel.name)
        return Message.objects.create(
            project=project,
            id=uuid4(),
            channel_id=channel.id,
            change_ids=[],
            title=f"{clean(project.name)}: a test of Fieldflame",
            created_at=now,
            due_at=now,
        )


def replay(project_id: int, message_id: UUID, now: datetime) -> bool:
    """Sends a message again that was sent or given up, with the same id. Returns False if it is under way, or gone.

    Raises `TooManyActs`.
    """
    replayed = Message.objects.filter(project_id=project_id, id=message_id).exclude(state=Message.State.WAITING)
    with transaction.atomic():
        project = _check_asked(project_id)
        if not replayed.update(state=Message.State.WAITING, due_at=now, tries=0, problem=None):
            return False
        record(Act.MESSAGE_REPLAYED, project=project, message=str(message_id))
        return True


def _check_asked(project_id: int) -> Project:
    """Returns the project, locked, so that two count one by one. Raises `TooManyActs`.

    The log outlives channels: the bound holds for those that are deleted and created again.
    """
    project = Project.objects.select_for_update(no_key=True).get(pk=project_id)
    asked = AuditEntry.objects.filter(project_number=project_id, act__in=(Act.CHANNEL_TESTED, Act.MESSAGE_REPLAYED))
    hour, day = settings.ALERTS_ASKED_PER_HOUR, settings.ALERTS_ASKED_PER_DAY
    check_rate(asked, hour, HOUR, f"A project sends at most {hour} tests and replays in an hour.")
    check_rate(asked, day, DAY, f"A project sends at most {day} tests and replays in a day.")
    return project


def select_described(project: Project, change_ids: list[int]) -> list[DescribedChange]:
    """Returns some changes in the order of a message: what needs attention first, what another change ended last.

    Two statements.
    """
    changes = StateChange.objects.filter(project_id=project.pk, id__in=change_ids).order_by("id")
    last = {(change.alert_id, bytes(change.subject_key)): change.id for change in changes}

    def rank(change: StateChange) -> tuple[bool, bool, float, int]:
        is_over = change.id != last[change.alert_id, bytes(change.subject_key)]
        return is_over, change.state != State.CONFIRMED, -(change.value or 0.0), change.id

    return describe_changes(project, sorted(changes, key=rank))


def describe_changes(project: Project, changes: Sequence[StateChange]) -> list[DescribedChange]:
    """Returns changes with their words and links, in their order. One statement; without changes no statement."""
    if not changes:
        return []
    present = {alert.id: alert for alert in AlertRule.objects.filter(project_id=project.pk)}
    return [_describe_change(project, alert_at(change, present.get(change.alert_id)), change) for change in changes]


def _describe_change(project: Project, alert: AlertRule | None, change: StateChange) -> DescribedChange:
    owners = owners_of(project, change)
    said = say_change(alert, change, owners)
    links = make_links(project, alert, change)
    text = "\n".join([*(f"- {label}: {text}" for label, text in said.lines()), f"- Page: {links.slice}"])
    issue = make_issue_link(project.issue_link_template, said.headline, text) or ""
    return DescribedChange(change=change, alert=alert, said=said, links=replace(links, issue=issue), owners=owners)


def write_letter(message: Message) -> Letter:
    """Returns the content of a message."""
    project = Project.objects.get(pk=message.project_id)
    return Letter(
        id=message.id,
        project=project,
        title=message.title,
        created_at=message.created_at,
        changes=select_described(project, list(message.change_ids)),
        is_test=not message.change_ids,
        history=absolute(reverse("alerts", args=[project.slug])),
    )
