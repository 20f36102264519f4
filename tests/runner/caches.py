"""What a process keeps of the database and the settings; tests change both."""

from typing import Final

from profcore import caching

WAKE_LIMIT_S: Final = 120.0


def clear_caches() -> None:
    """Empties all caches, so that no test depends on another."""
    from ingest.notify import settle_notifications

    assert settle_notifications(WAKE_LIMIT_S), "a notification of the test before is still under way"
    caching.clear_caches()
