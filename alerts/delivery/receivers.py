"""Handing a message to its receiver: a POST to the address that was checked, or a mail (`mailing`).

A webhook is signed as https://www.standardwebhooks.com says, for which there are libraries in many languages: the
HMAC-SHA256 of its id, the time of the attempt and its body. Redirects are not followed, because they could lead to
addresses that were not checked.
"""

import base64
import contextlib
import hashlib
import hmac
import http.client
import socket
import ssl
import time
from collections.abc import Sequence
from functools import partial
from typing import Final

from django.conf import settings

from aggregate.doctor.addresses import Address, RefusedAddress, Target, read_target, resolve
from aggregate.doctor.fetching import PinnedConnection, explain
from alerts.channels import SECRET_PREFIX, allowed_networks
from alerts.delivery.bodies import Letter, write_slack, write_teams, write_webhook
from alerts.delivery.deadlines import FAREWELL_S, Deadline, TooMuchRead
from alerts.delivery.mailing import send_mail
from alerts.delivery.outcomes import Receipt, Undelivered
from alerts.models import Channel
from alerts.sealing import Sealed

MAX_ANSWER_BYTES: Final = 65_536  # of an answer with its headers: an answer to a program has a few hundred
MAX_BODY_BYTES: Final = 4_096  # read so that the connection ends well; nothing of it is kept
MAX_RETRY_AFTER_S: Final = 6 * 3_600
GONE: Final = 410


def hand_over(channel: Channel, sealed: Sealed, letter: Letter) -> Receipt:
    """Hands a message to its receiver. Raises `Undelivered`."""
    match channel.kind:
        case Channel.Kind.MAIL:
            return send_mail(sealed, letter)
        case Channel.Kind.SLACK:
            return post(sealed.addresses[0], write_slack(letter), {})
        case Channel.Kind.TEAMS:
            return post(sealed.addresses[0], write_teams(letter), {})
        case _:
            body = write_webhook(letter)
            return post(sealed.addresses[0], body, sign(sealed.secret, str(letter.id), int(time.time()), body))


def sign(secret: str, message_id: str, at_s: int, body: bytes) -> dict[str, str]:
    """Returns the headers that prove where a webhook comes from, and when this attempt was made."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = hmac.new(key, f"{message_id}.{at_s}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }


def post(url: str, body: bytes, headers: dict[str, str]) -> Receipt:
    """Posts JSON to an address, which is looked up once; the connection goes to what was found and checked.

    Raises `Undelivered`.
    """
    host, deadline = url, Deadline(settings.ALERTS_SEND_S, most_bytes=MAX_ANSWER_BYTES)
    try:
        target = read_target(url, settings.WEBHOOK_PORTS, setting="FIELDFLAME_WEBHOOK_PORTS")
        host = target.host
        look_up = partial(resolve, target, allowed_networks(), setting="FIELDFLAME_WEBHOOK_ALLOW_PRIVATE")
        connection = _BoundConnection(target, deadline.wait_for(look_up), deadline)
        try:
            common = {"Host": target.netloc, "Connection": "close", "User-Agent": "Fieldflame"}
            connection.request("POST", target.path, body, common | {"Content-Type": "application/json"} | headers)
            answer = connection.getresponse()
            deadline.shorten(FAREWELL_S)
            with contextlib.suppress(OSError, http.client.HTTPException):  # the status has said what became of it
                answer.read(MAX_BODY_BYTES)
        finally:
            connection.close()
    except RefusedAddress as error:
        raise Undelivered(str(error)) from None
    except TooMuchRead:
        raise Undelivered(f"The answer of {host} is too long.") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Undelivered(explain(error, host)) from None
    if 200 <= answer.status < 300:
        return Receipt(answer.status)
    raise Undelivered(
        f"It answered with status {answer.status}.",
        status=answer.status,
        wait_s=_read_wait(answer.getheader("Retry-After")),
        is_final=answer.status == GONE,
    )


class _BoundConnection(PinnedConnection):
    """A connection to an address that was checked, which ends with a deadline."""

    def __init__(self, target: Target, addresses: Sequence[Address], deadline: Deadline) -> None:
        super().__init__(target, addresses)
        self._deadline = deadline

    def _reach(self) -> socket.socket:
        return self._deadline.connect([str(address) for address in self._addresses], self._target.port)

    def _make_context(self) -> ssl.SSLContext:
        return self._deadline.make_tls_context()


def _read_wait(text: str | None) -> int:
    return min(int(text), MAX_RETRY_AFTER_S) if text and text.isascii() and text.isdigit() and len(text) < 9 else 0
