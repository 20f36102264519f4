"""The two lines that a site needs to be recorded: the header of its pages, and the snippet's tag."""

from typing import Final

HEADER: Final = "Document-Policy: js-profiling"


def write_tag(base_url: str, public_key: str) -> str:
    """Returns the snippet's tag with a key, for a page's head: the address with the project's settings inside."""
    return (
        f'<script src="{base_url}/snippet/{public_key}.js" data-key="{public_key}" data-release="1.0.0" '
        "crossorigin></script>"
    )
