"""The headers with which browsers report the pages of a site that hang (docs/hangs.md)."""

from typing import Final

STACKS: Final = "include-js-call-stacks-in-crash-reports"


def write_hang_headers(base_url: str, public_key: str) -> str:
    """Returns the two headers, with a release to be replaced."""
    address = f"{base_url}/ingest/v1/reports?key={public_key}&release=1.0.0"
    return f'Reporting-Endpoints: default="{address}"\nDocument-Policy: js-profiling, js-profiling-mode=lazy, {STACKS}'
