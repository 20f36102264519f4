"""Which page views a question is about."""

from datetime import UTC, datetime, timedelta

from fieldflame.exits import UsageError
from fieldflame.server import Pairs

# "Since Tuesday" is compared with as long before, up to this: older page views tell less about now.
MAX_SPAN = timedelta(days=28)


def make_filters(**named: str | None) -> list[tuple[str, str]]:
    """Returns the parameters of a slice, without those that were left out."""
    return [(name, value) for name, value in named.items() if value]


def make_sides(
    base: str | None, head: str | None, since: str | None, filters: Pairs, *, now: datetime
) -> list[tuple[str, str]]:
    """Returns two sides: two releases, or the time since a moment and as long before. Raises `UsageError`."""
    if since:
        if base or head:
            raise UsageError("Give base_release and head_release, or since; not both.")
        at = _read_time(since)
        span = min(now - at, MAX_SPAN)
        if span <= timedelta(0):
            raise UsageError("since must be in the past.")
        before, until = at - span, now + timedelta(hours=1)  # times are rounded to hours
        texts = [moment.isoformat(timespec="seconds") for moment in (before, at, at, until)]
        names = ("base_from", "base_to", "head_from", "head_to")
        return [*zip(names, texts, strict=True), *filters]
    if not (base and head):
        raise UsageError("Give base_release and head_release, or since.")
    return [("base_release", base), ("head_release", head), *filters]


def _read_time(text: str) -> datetime:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise UsageError("since must be a date or a time, such as 2026-11-24 or 2026-11-24T10:00Z.") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
