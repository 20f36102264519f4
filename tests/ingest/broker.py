"""This process's client of the broker, anew in a test."""

import pytest

from ingest import notify


def renew_broker_client(monkeypatch: pytest.MonkeyPatch, limit_s: int | None = None) -> None:
    """Forgets the client and the pause after a failure; the broker is given all the time that a busy machine takes."""
    monkeypatch.setattr(notify, "_paused_until", 0.0)
    monkeypatch.setattr(notify, "_client", None)
    for name in ("TIMEOUT_S", "FLAG_S") if limit_s else ():
        monkeypatch.setattr(notify, name, limit_s)
