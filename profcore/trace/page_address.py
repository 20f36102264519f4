"""Reads only the page of an envelope, to try route rules on stored traces."""

import msgspec

from profcore.trace.wire import UNREADABLE


class PageAddress(msgspec.Struct, gc=False):
    """The client's name of its page, or its full address. Addresses are private; routes are made from them."""

    page: str | None = None
    url: str | None = None


_decoder = msgspec.json.Decoder(PageAddress)


def read_page_address(body: bytes) -> PageAddress | None:
    """Returns the page of an accepted envelope; None if it cannot be read."""
    try:
        return _decoder.decode(body)
    except UNREADABLE:
        return None
