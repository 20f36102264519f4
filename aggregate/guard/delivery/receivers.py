"""Handing a message to its receiver: a POST to the address that was checked, or a mail.

A webhook is signed as https://www.standardwebhooks.com says, for which there are libraries in many languages: the
HMAC-SHA256 of its id, the time of the attempt and its body. Redirects are not followed, because they could lead to
addresses that were not checked.
"""

import base64
import hashlib
import hmac
import http.client
import smtplib
import time
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.core.mail import EmailMessage

from aggregate.doctor.addresses import RefusedAddress, read_target, resolve
from aggregate.doctor.fetching import PinnedConnection, explain
from aggregate.guard.channels import SECRET_PREFIX, allowed_networks
from aggregate.guard.delivery.bodies import Letter, write_mail, write_slack, write_teams, write_webhook
from aggregate.guard.sealing import Sealed
from aggregate.guard_models import Channel

MAX_ANSWER_BYTES: Final = 4_096  # read so that the connection ends well; nothing of it is kept
MAX_SUBJECT_CHARS: Final = 200
MAX_RETRY_AFTER_S: Final = 6 * 3_600
GONE: Final = 410


@dataclass(frozen=True, slots=True)
class Receipt:
    """A message arrived. `status` is that of the answer, None for a mail."""

    status: int | None


class Undelivered(Exception):
    """A message did not arrive. `is_final`: it never will, the receiver says."""

    def __init__(self, problem: str, *, status: int | None = None, wait_s: int = 0, is_final: bool = False) -> None:
        super().__init__(problem)
        self.status, self.wait_s, self.is_final = status, wait_s, is_final


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
    host = url
    try:
        target = read_target(url, settings.WEBHOOK_PORTS)
        host = target.host
        found = resolve(target, allowed_networks(), setting="FIELDFLAME_WEBHOOK_ALLOW_PRIVATE")
        connection = PinnedConnection(target, found, wait_s=settings.GUARD_SEND_S)
        try:
            common = {"Host": target.netloc, "Connection": "close", "User-Agent": "Fieldflame"}
            connection.request("POST", target.path, body, common | {"Content-Type": "application/json"} | headers)
            answer = connection.getresponse()
            answer.read(MAX_ANSWER_BYTES)
        finally:
            connection.close()
    except RefusedAddress as error:
        raise Undelivered(str(error).replace("FIELDFLAME_DOCTOR_PORTS", "FIELDFLAME_WEBHOOK_PORTS")) from None
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


def _read_wait(text: str | None) -> int:
    return min(int(text), MAX_RETRY_AFTER_S) if text and text.isascii() and text.isdigit() and len(text) < 9 else 0


def send_mail(sealed: Sealed, letter: Letter) -> Receipt:
    """Sends a mail to all addresses of a channel. Raises `Undelivered`."""
    if not settings.EMAIL_HOST:
        raise Undelivered("This server sends no mail: FIELDFLAME_MAIL_HOST is not set.")
    mail = EmailMessage(
        subject=letter.title[:MAX_SUBJECT_CHARS],
        body=write_mail(letter),
        to=list(sealed.addresses),
        headers={
            "Message-ID": f"<{letter.id}@fieldflame>",
            "Auto-Submitted": "auto-generated",
            "X-Fieldflame-Message": str(letter.id),
        },
    )
    try:
        mail.send()
    except (OSError, smtplib.SMTPException) as error:
        raise Undelivered(f"The mail server did not take it: {_say_smtp(error)}") from None
    return Receipt(None)


def _say_smtp(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{error.smtp_code} {error.smtp_error!r}"[:150]
    return f"{type(error).__name__}."
