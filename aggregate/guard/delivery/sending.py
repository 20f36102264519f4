"""Sending messages: claimed by a lease, tried again with back-off, noted when they arrived.

A worker that is killed after the receiver got a message and before that is noted leaves its claim. When the lease is
over, the message is sent again, with the same id and content: at least once on the wire, and receivers can drop what
they have.
"""

import logging
from datetime import datetime, timedelta
from random import Random
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from aggregate.guard.delivery.gathering import gather_due, write_letter
from aggregate.guard.delivery.outbox import leave_quiet
from aggregate.guard.delivery.outcomes import Receipt, Undelivered
from aggregate.guard.delivery.receivers import hand_over
from aggregate.guard.sealing import SealBroken, open_seal
from aggregate.guard_models import Channel, Message
from aggregate.metrics import MESSAGES, note
from aggregate.turns import end_step

logger = logging.getLogger(__name__)

FIRST_WAIT_S: Final = 30
MAX_WAIT_S: Final = 6 * 3_600
DUE_AT_ONCE: Final = 200
_random: Final = Random()  # noqa: S311  # spreads attempts over time


def send_due(now: datetime) -> int:
    """Gathers and sends what is due, and returns how many messages arrived. Raises `TurnOver`.

    A channel that fails is left alone for the rest of the turn: others do not wait for each of its messages.
    """
    gather_due(now)
    arrived, failing = 0, set[tuple[int, int]]()
    for project_id, message_id, channel_id in list_due(now):
        if (project_id, channel_id) in failing:
            continue
        match send_one(project_id, message_id, now):
            case True:
                arrived += 1
            case False:
                failing.add((project_id, channel_id))
        end_step()
    return arrived


def list_due(now: datetime) -> list[tuple[int, UUID, int]]:
    """Returns the project, id and channel of messages that wait and are due, of all projects."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT project_id, id, channel_id FROM aggregate_message
               WHERE state = 0 AND due_at <= %s AND (claimed_until IS NULL OR claimed_until < %s)
               ORDER BY due_at LIMIT %s""",
            [now, now, DUE_AT_ONCE],
        )
        return list(cursor.fetchall())


def send_one(project_id: int, message_id: UUID, now: datetime) -> bool | None:
    """Sends a message if nobody else does. Returns whether it arrived, None if it was not to be sent."""
    message = claim(project_id, message_id, now)
    if message is None:
        return None
    channel = Channel.objects.filter(project_id=project_id, id=message.channel_id).first()
    if channel is None:
        return None  # deleted with its messages
    try:
        receipt = hand_over(channel, open_seal(channel.sealed), write_letter(message))
    except SealBroken as error:
        settle(message, channel, now, Undelivered(str(error)))
        return False
    except Undelivered as error:
        settle(message, channel, now, error)
        return False
    settle(message, channel, now, receipt)
    return True


def claim(project_id: int, message_id: UUID, now: datetime) -> Message | None:
    """Claims a message and counts the attempt, before anything is sent. None if somebody else has it."""
    with transaction.atomic():
        rows = Message.objects.select_for_update(skip_locked=True)
        message = rows.filter(
            project_id=project_id, id=message_id, state=Message.State.WAITING, due_at__lte=now
        ).first()
        if message is None or (message.claimed_until is not None and message.claimed_until >= now):
            return None
        message.attempts += 1
        message.tries += 1
        message.claimed_until = now + timedelta(seconds=lease_s())
        message.save(update_fields=["attempts", "tries", "claimed_until"])
    return message


def lease_s() -> int:
    """Returns for how long nobody else sends a message: a connection, TLS and an answer each have GUARD_SEND_S."""
    return 4 * settings.GUARD_SEND_S + 20


def settle(message: Message, channel: Channel, now: datetime, outcome: Receipt | Undelivered) -> None:
    """Notes what became of an attempt, unless a later one began meanwhile. The next one is not in quiet hours."""
    values: dict[str, object]
    if isinstance(outcome, Receipt):
        values = {"state": Message.State.SENT, "sent_at": now, "problem": None}
    else:
        is_over = outcome.is_final or message.tries >= settings.GUARD_TRIES
        wait_s = max(find_wait_s(message.tries), outcome.wait_s)
        values = {
            "state": Message.State.FAILED if is_over else Message.State.WAITING,
            "due_at": leave_quiet(channel, now + timedelta(seconds=wait_s)),
            "problem": str(outcome),
        }
    own = Message.objects.filter(project_id=message.project_id, id=message.id, attempts=message.attempts)
    own.update(**values, status=outcome.status, claimed_until=None)
    word = "sent" if isinstance(outcome, Receipt) else "failed"
    MESSAGES.labels(word).inc()
    note(f"messages {word}")
    if isinstance(outcome, Undelivered):
        logger.warning("Message %s of project %s did not arrive.", message.id, message.project_id)


def find_wait_s(tries: int) -> float:
    """Returns how long to wait after so many tries: twice as long each time, and a part of it by chance."""
    wait_s = min(FIRST_WAIT_S * 2.0 ** (tries - 1), MAX_WAIT_S)
    return wait_s * _random.uniform(0.5, 1.0)
