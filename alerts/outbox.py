"""When a notice is due: at once, after a channel's quiet hours, or with the digest of its release."""

from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from django.conf import settings

from alerts.models import Channel

DAY_MINUTES: Final = 24 * 60


def choose_due(channel: Channel, at: datetime) -> datetime:
    """Returns when a channel gets a message about something that happened at a moment."""
    due_at = at + timedelta(hours=settings.ALERTS_DIGEST_HOURS) if channel.is_digest else at
    return leave_quiet(channel, due_at)


def leave_quiet(channel: Channel, at: datetime) -> datetime:
    """Returns a moment, or if it lies in the quiet hours, their end. They may go over midnight."""
    if channel.quiet_from is None or channel.quiet_to is None:
        return at
    length = (channel.quiet_to - channel.quiet_from) % DAY_MINUTES
    zone = ZoneInfo(channel.time_zone)
    here = at.astimezone(zone)
    into = (here.hour * 60 + here.minute - channel.quiet_from) % DAY_MINUTES
    if into >= length:
        return at
    # By the clock on the wall: a day with another length ends its quiet hours at the same time as others.
    end_on = here.date() + timedelta(days=channel.quiet_to <= here.hour * 60 + here.minute)
    hour, minute = divmod(channel.quiet_to, 60)
    end = datetime(end_on.year, end_on.month, end_on.day, hour, minute, tzinfo=zone)
    # When clocks are set back, this time comes twice (its second one has `fold`): the next one is the end. When they
    # are set forward, a time that is left out is read as an hour later.
    return next((ends_at for fold in (0, 1) if (ends_at := end.replace(fold=fold).astimezone(UTC)) > at), at)
