"""A worker whose acknowledgement did not reach Valkey takes further tasks."""

from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
from kombu.transport.virtual import QoS
from redis.exceptions import TimeoutError as ValkeyTimeout

from config.celery import app

TAG = "a-message"


def test_a_message_whose_acknowledgement_fails_is_not_counted_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise ValkeyTimeout("Timeout reading from socket")

    with app.connection_for_read() as connection:
        channel: Any = connection.default_channel  # Any: one of the transport's own
        taken = channel.qos
        taken.prefetch_count = 1
        QoS.append(taken, SimpleNamespace(), TAG)
        assert not taken.can_consume()
        with monkeypatch.context() as patch:
            patch.setattr(taken, "_remove_from_indices", fail)
            with pytest.raises(ValkeyTimeout):
                taken.ack(TAG)
        assert taken.can_consume()
