"""The check of the certificate of Fieldflame's own address, as a browser would see it."""

import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from aggregate.doctor.findings import Finding, ok, problem, skipped, warning
from profcore.times import DAY

LIMIT_S: Final = 5
WARNING_DAYS: Final = 21  # certificates of 90 days are renewed when 30 are left: it has failed for a week
PROBLEM_DAYS: Final = 7


def check_certificate(now: datetime) -> Iterator[Finding]:
    """Yields how long the certificate of FIELDFLAME_ADDRESS is valid."""
    address = urlsplit(settings.ADDRESS)
    if not address.hostname:
        yield skipped(
            "certificate",
            "The certificate is not looked at: FIELDFLAME_ADDRESS does not say at which address browsers reach it.",
            line="FIELDFLAME_ADDRESS=https://profiles.example.com",
        )
        return
    if address.scheme != "https":
        yield warning("certificate", f"{settings.ADDRESS} has no certificate: everything is sent in the clear.")
        return
    try:
        ends_at = read_end(address.hostname, address.port or 443)
    except ssl.SSLCertVerificationError as error:
        yield problem("certificate", f"Browsers refuse the certificate of {address.hostname}: {error.verify_message}.")
    except (OSError, ValueError) as error:
        yield warning("certificate", f"{address.hostname} cannot be reached from here: {error}.")
    else:
        yield judge_certificate(address.hostname, ends_at, now)


def read_end(host: str, port: int) -> datetime:
    """Returns when the certificate of a host ends. Raises OSError, and if browsers would refuse it, SSLError."""
    context = ssl.create_default_context()
    with (
        socket.create_connection((host, port), timeout=LIMIT_S) as connected,
        context.wrap_socket(connected, server_hostname=host) as secured,
    ):
        certificate = secured.getpeercert() or {}
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(certificate["notAfter"])), UTC)


def judge_certificate(host: str, ends_at: datetime, now: datetime) -> Finding:
    days = (ends_at - now) // DAY
    sentence = f"The certificate of {host} is valid for {days} more day{'' if days == 1 else 's'}."
    if days < PROBLEM_DAYS:
        return problem("certificate", sentence)
    return warning("certificate", sentence) if days < WARNING_DAYS else ok("certificate", sentence)
