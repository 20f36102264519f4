"""Sending a mail: one deadline for all that the mail server is asked, and what each address was answered."""

import contextlib
import smtplib
import socket
import ssl
from functools import cached_property, partial
from typing import Any, Final

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend
from django.core.mail.utils import DNS_NAME

from alerts.channels import mask_addresses
from alerts.delivery.bodies import Letter, write_mail
from alerts.delivery.deadlines import FAREWELL_S, Deadline
from alerts.delivery.outcomes import Receipt, Undelivered
from alerts.sealing import Sealed

Refused = dict[str, tuple[int, bytes]]  # the answers about addresses that did not get a mail

MAX_SUBJECT_CHARS: Final = 200
MAX_REASON_CHARS: Final = 100  # of an answer about one address
MAX_SMTP_BYTES: Final = 65_536  # of all answers of a mail server to one mail: a line for each address


def send_mail(sealed: Sealed, letter: Letter) -> Receipt:
    """Sends a mail to all addresses of a channel. Raises `Undelivered` if no address gets it.

    If some get it, it has arrived: they would have it twice if it was sent again. The receipt names the others.
    """
    if not settings.EMAIL_HOST:
        raise Undelivered("This server sends no mail: FIELDFLAME_MAIL_HOST is not set.")
    deadline = Deadline(settings.ALERTS_MAIL_S, most_bytes=MAX_SMTP_BYTES)
    backend = _Backend(deadline)
    mail = EmailMessage(
        subject=_write_subject(letter.title),
        body=write_mail(letter),
        to=list(sealed.addresses),
        headers={
            "Message-ID": f"<{letter.id}@fieldflame>",
            "Auto-Submitted": "auto-generated",
            "X-Fieldflame-Message": str(letter.id),
        },
        connection=backend,
    )
    try:
        deadline.wait_for(DNS_NAME.get_fqdn)  # asked once in a process; a mail begins with this server's name
        mail.send()
    except (OSError, smtplib.SMTPException) as error:
        raise Undelivered(f"The mail server did not take it: {_say_smtp(error, deadline)}") from None
    return Receipt(None, _say_refused(backend.refused) if backend.refused else None)


def _write_subject(title: str) -> str:
    """Returns a title as one line: a header has no line breaks, whatever wrote the title."""
    return "".join(char if char.isprintable() else " " for char in title)[:MAX_SUBJECT_CHARS]


def _say_smtp(error: Exception, deadline: Deadline) -> str:
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return _say_refused(error.recipients)
    if isinstance(error, smtplib.SMTPResponseException):
        return f"{error.smtp_code} {error.smtp_error!r}"[:150]
    return "it did not answer in time." if deadline.is_over else f"{type(error).__name__}."


def _say_refused(answers: Refused) -> str:
    """Returns which addresses were refused, and why, as the log shows addresses."""
    parts = [f"{address} ({code} {_write_answer(answer)})" for address, (code, answer) in answers.items()]
    return mask_addresses(f"Refused: {', '.join(parts)}.")


def _write_answer(answer: bytes) -> str:
    text = answer.decode("ascii", "replace")
    return "".join(char if char.isprintable() else " " for char in text)[:MAX_REASON_CHARS]


class _Backend(EmailBackend):
    """Django's way of sending by SMTP, with connections that have a deadline."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._deadline = deadline
        self.refused: Refused = {}

    # Any: smtplib's classes with their first argument given
    @property
    def connection_class(self) -> Any:
        return partial(_TlsSmtp if self.use_ssl else _Smtp, self._deadline, self.refused)

    @cached_property
    def ssl_context(self) -> ssl.SSLContext:
        return self._deadline.make_tls_context()

    def _close_connection(self, connection: smtplib.SMTP) -> None:
        """Says goodbye. What was taken has arrived, whether or not that is answered."""
        self._deadline.shorten(FAREWELL_S)
        with contextlib.suppress(OSError, smtplib.SMTPException):
            connection.quit()
        connection.close()


class _Smtp(smtplib.SMTP):
    """A connection to a mail server that ends with a deadline."""

    # Any: the arguments of smtplib, which are passed on
    def __init__(self, deadline: Deadline, refused: Refused, *args: Any, **kwargs: Any) -> None:
        self._deadline, self._refused = deadline, refused
        super().__init__(*args, **kwargs)

    def sendmail(self, *args: Any, **kwargs: Any) -> Refused:
        """Sends a mail, and keeps the answers about addresses that were refused, which Django drops."""
        refused = super().sendmail(*args, **kwargs)
        self._refused.update(refused)
        return refused

    def _get_socket(self, host: str, port: int, timeout: object) -> Any:
        return self._deadline.connect(self._deadline.wait_for(partial(_list_addresses, host, port)), port)


class _TlsSmtp(smtplib.SMTP_SSL, _Smtp):
    """The same, with TLS from the start."""

    def __init__(self, deadline: Deadline, refused: Refused, *args: Any, **kwargs: Any) -> None:
        self._deadline, self._refused = deadline, refused
        smtplib.SMTP_SSL.__init__(self, *args, **kwargs)


def _list_addresses(host: str, port: int) -> list[str]:
    entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))
