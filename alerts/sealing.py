"""The addresses and secrets of channels, encrypted: a copy of the database alone sends and signs nothing.

The key comes from the server's secret key. Signing needs the secret itself, so unlike tokens it cannot be a digest.
"""

import base64
from dataclasses import asdict, dataclass
from typing import Final

import msgspec
from cryptography.fernet import Fernet, InvalidToken
from django.utils.crypto import salted_hmac

SALT: Final = "fieldflame.alerts.channel"


class SealBroken(Exception):
    """What was sealed cannot be opened: the server's secret key is another one now. Has a sentence."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """What is encrypted of a channel: addresses (of mail several), and the secret that signs webhooks."""

    addresses: tuple[str, ...]
    secret: str = ""


def seal(content: Sealed) -> bytes:
    """Returns an encrypted content."""
    return _make_cipher().encrypt(msgspec.json.encode(asdict(content)))


def open_seal(sealed: bytes | memoryview) -> Sealed:
    """Returns an encrypted content. Raises `SealBroken`."""
    try:
        return msgspec.json.decode(_make_cipher().decrypt(bytes(sealed)), type=Sealed)
    except (InvalidToken, msgspec.MsgspecError):
        raise SealBroken("The server's secret key has changed. Enter the address again.") from None


def _make_cipher() -> Fernet:
    key = salted_hmac(SALT, "", algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(key))
