"""What an envelope says of its page, and nothing else of it: to try route rules on traces that came."""

import msgspec

from profcore.wire import UNREADABLE


class PageFacts(msgspec.Struct, gc=False):
    """What the client called its page, or the page's whole address. Addresses are private: routes are made of them."""

    page: str | None = None
    url: str | None = None


_decoder = msgspec.json.Decoder(PageFacts)


def read_page_facts(body: bytes) -> PageFacts | None:
    """Returns what an envelope that was taken says of its page; None where even that cannot be read."""
    try:
        return _decoder.decode(body)
    except UNREADABLE:
        return None
