"""What a site needs to be recorded: the header of its pages, and the snippet's two tags."""

from typing import Final

from ingest.snippet.files import read_fixed_file
from ingest.snippet.views import STUB_PATH

HEADER: Final = "Document-Policy: js-profiling, js-profiling-mode=lazy"


def write_tag(base_url: str, public_key: str) -> str:
    """Returns the snippet's tags with a key, for a page's head: the inline stub, and the core.

    The core's address is that with the project's settings inside.
    """
    return (
        f"<script>{read_stub()}</script>\n"
        f'<script async src="{base_url}/snippet/{public_key}.js" data-key="{public_key}" data-release="1.0.0" '
        "crossorigin></script>"
    )


def read_stub() -> str:
    """Returns the text of the inline stub."""
    return read_fixed_file(STUB_PATH).bodies[""].decode().strip()
