"""Sending messages: claimed by a lease, tried again with back-off, noted when they arrived.

A worker that is killed after the receiver got a message and before that is noted leaves its claim. When the lease is
over, the message is sent again, with the same id and content: at least once on the wire, and receivers can drop what
they have.
"""

import logging
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction

from aggregate.metrics import MESSAGES, note
from aggregate.time_budget import end_step
from alerts.channels import mask_addresses
from alerts.delivery.gathering import gather_due, write_letter
from alerts.delivery.outcomes import Receipt, Undelivered
from alerts.delivery.receivers import hand_over
from alerts.models import Channel, Message
from alerts.outbox import leave_quiet
from alerts.sealing import SealBroken, open_seal

logger = logging.getLogger(__name__)

FIRST_WAIT_S: Final = 30
MAX_WAIT_S: Final = 6 * 3_600
DUE_AT_ONCE: Final = 200
# An attempt ends with its deadline. What is noted before and after it takes far less than this, also on a busy server.
LEASE_MARGIN_S: Final = 20
# Projects take turns: the first message of each comes before the second of any. What is under way, or waits for another
# attempt, counts as turns that its project had. So one with many receivers that never answer does not delay the others.
DUE: Final = f"""
WITH waiting AS (
    SELECT project_id, id, channel_id, tries, due_at, created_at,
           due_at <= %(now)s AND (claimed_until IS NULL OR claimed_until < %(now)s) AS is_due
    FROM alerts_message WHERE state = {Message.State.WAITING.value}),
placed AS (
    SELECT project_id, id, channel_id, due_at, is_due,
           row_number() OVER (PARTITION BY project_id ORDER BY is_due DESC, due_at, created_at, id)
           + count(*) FILTER (WHERE tries > 0) OVER (PARTITION BY project_id) AS turn
    FROM waiting)
SELECT project_id, id, channel_id, turn FROM placed WHERE is_due ORDER BY turn, due_at LIMIT %(most)s
"""
# When the messages may be over that say something older of a message's subjects: those that are sent just now, or wait.
OLDER: Final = f"""
SELECT max(greatest(m.due_at, m.claimed_until))
FROM alerts_statechange own
JOIN alerts_statechange c ON c.project_id = own.project_id AND c.alert_id = own.alert_id
     AND c.subject_key = own.subject_key AND c.id < own.id
JOIN alerts_message m ON m.project_id = own.project_id AND m.channel_id = %(channel_id)s
     AND m.state = {Message.State.WAITING.value} AND c.id = ANY (m.change_ids)
WHERE own.project_id = %(project_id)s AND own.id = ANY (%(ids)s)
"""
_random: Final = Random()  # noqa: S311  # spreads attempts over time, and mixes projects


def send_due(now: datetime) -> int:
    """Gathers and sends what is due, and returns how many messages arrived. Raises `BudgetSpent`.

    A channel that fails is left alone for the rest of the turn: others do not wait for each of its messages.
    """
    clock = start_clock(now)
    gather_due(now)
    arrived, failing = 0, set[tuple[int, int]]()
    for project_id, message_id, channel_id in list_due(now):
        if (project_id, channel_id) in failing:
            continue
        match send_one(project_id, message_id, clock()):
            case True:
                arrived += 1
            case False:
                failing.add((project_id, channel_id))
        end_step()
    return arrived


def start_clock(now: datetime) -> Callable[[], datetime]:
    """Returns what says the time from now on: a lease that began when the turn did would end too early."""
    began_s = time.monotonic()
    return lambda: now + timedelta(seconds=time.monotonic() - began_s)


def list_due(now: datetime) -> list[tuple[int, UUID, int]]:
    """Returns the project, id and channel of messages that wait and are due, of all projects in turns.

    Those whose turn is the same are mixed: a turn of maintenance may end after one attempt, and the next one begins
    anew.
    """
    with connection.cursor() as cursor:
        cursor.execute(DUE, {"now": now, "most": DUE_AT_ONCE})
        rows = sorted(cursor.fetchall(), key=lambda row: (row[3], _random.random()))
    return [(project_id, message_id, channel_id) for project_id, message_id, channel_id, _ in rows]


def send_one(project_id: int, message_id: UUID, now: datetime) -> bool | None:
    """Sends a message unless another worker does. Returns whether it arrived, None if it was not to be sent.

    Whatever is wrong with one message, others are sent. Faults of the database are raised.
    """
    clock = start_clock(now)
    claimed = claim(project_id, message_id, now)
    if claimed is None:
        return None
    message, channel = claimed
    outcome: Receipt | Undelivered
    try:
        outcome = hand_over(channel, open_seal(channel.sealed), write_letter(message))
    except SealBroken as error:
        outcome = Undelivered(str(error))
    except Undelivered as error:
        outcome = error
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        logger.exception("Message %s of project %s could not be sent.", message_id, project_id)
        outcome = Undelivered(f"It could not be sent: {type(error).__name__}. The server's log has more.")
    settle(message, channel, clock(), outcome)
    return isinstance(outcome, Receipt)


def claim(project_id: int, message_id: UUID, now: datetime) -> tuple[Message, Channel] | None:
    """Claims a message and counts the attempt, before anything is sent.

    Returns it with its channel, None if another worker has it, or if it is not to be sent.
    """
    with transaction.atomic():
        rows = Message.objects.select_for_update(skip_locked=True)
        message = rows.filter(
            project_id=project_id, id=message_id, state=Message.State.WAITING, due_at__lte=now
        ).first()
        if message is None or (message.claimed_until is not None and message.claimed_until >= now):
            return None
        channel = Channel.objects.filter(project_id=project_id, id=message.channel_id).first()
        if channel is None:
            return None  # deleted with its messages
        if not _may_start(message, channel, now):
            return None
        message.attempts += 1
        message.tries += 1
        message.claimed_until = now + timedelta(seconds=lease_s(channel))
        message.save(update_fields=["attempts", "tries", "claimed_until"])
    return message, channel


def _may_start(message: Message, channel: Channel, now: datetime) -> bool:
    """Returns whether a message that is locked may be sent now. If not, it is given up or put off."""
    if message.tries >= settings.ALERTS_TRIES:
        # Senders that were killed, or lost the database, noted nothing.
        give_up(message, f"After {message.tries} attempts no outcome was recorded.")
        _count("failed", message)
        return False
    if is_asked_for(message):
        return True
    if not channel.is_on:
        message.attempts += 1  # see `is_asked_for`
        give_up(message, "The channel is switched off.")
        return False
    turn_at = find_turn(message)
    due_at = max(leave_quiet(channel, now), turn_at or now)
    if turn_at is not None or due_at != now:
        message.due_at = due_at
        message.save(update_fields=["due_at"])
        return False
    return True


def find_turn(message: Message) -> datetime | None:
    """Returns when the last message is due that waits to say something older of one of its subjects, None if none does.

    So the end of an alarm does not come before its beginning. Only what is about the same subject waits: a message that
    its receiver never takes would hold up all others for half a day.
    """
    ids = list(message.change_ids)
    with connection.cursor() as cursor:
        cursor.execute(OLDER, {"project_id": message.project_id, "channel_id": message.channel_id, "ids": ids})
        due_at: datetime | None = cursor.fetchone()[0]
    return due_at


def is_asked_for(message: Message) -> bool:
    """Returns whether a person asked for a message just now: a test, or a replay.

    A replay sets only `tries` to zero. Whatever was sent or given up, and so can be replayed, had an attempt.
    """
    return not message.change_ids or message.attempts > message.tries


def give_up(message: Message, problem: str) -> None:
    """Notes that a message that is locked is not sent. It can be replayed."""
    message.state, message.problem, message.claimed_until = Message.State.FAILED, problem, None
    message.save(update_fields=["state", "attempts", "problem", "claimed_until"])


def lease_s(channel: Channel) -> int:
    """Returns for how long no other worker sends a message: longer than an attempt, which has a deadline."""
    is_mail = channel.kind == Channel.Kind.MAIL
    return (settings.ALERTS_MAIL_S if is_mail else settings.ALERTS_SEND_S) + LEASE_MARGIN_S


def settle(message: Message, channel: Channel, now: datetime, outcome: Receipt | Undelivered) -> None:
    """Notes what became of an attempt. What arrived has arrived; what did not says nothing of a later attempt.

    The next attempt is not in quiet hours.
    """
    row = Message.objects.filter(project_id=message.project_id, id=message.id)
    if isinstance(outcome, Receipt):
        problem = None if outcome.problem is None else mask_addresses(outcome.problem)
        columns = {"problem": problem, "status": outcome.status}
        row.update(state=Message.State.SENT, sent_at=now, claimed_until=None, **columns)
        _count("sent", message)
        return
    is_over = outcome.is_final or message.tries >= settings.ALERTS_TRIES
    wait_s = max(find_wait_s(message.tries), outcome.wait_s)
    row.filter(state=Message.State.WAITING, attempts=message.attempts).update(
        state=Message.State.FAILED if is_over else Message.State.WAITING,
        due_at=leave_quiet(channel, now + timedelta(seconds=wait_s)),
        problem=mask_addresses(str(outcome)),
        status=outcome.status,
        claimed_until=None,
    )
    _count("failed", message)


def _count(word: str, message: Message) -> None:
    MESSAGES.labels(word).inc()
    note(f"messages {word}")
    if word == "failed":
        logger.warning("Message %s of project %s did not arrive.", message.id, message.project_id)


def find_wait_s(tries: int) -> float:
    """Returns how long to wait after some tries: twice as long each time, and a part of it by chance."""
    wait_s = min(FIRST_WAIT_S * 2.0 ** (tries - 1), MAX_WAIT_S)
    return wait_s * _random.uniform(0.5, 1.0)
