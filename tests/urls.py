"""Parts of the URLs that rules about URLs are tried with."""

from typing import Final

LOCAL_FILE: Final = "file://"  # of a page that a browser opened from a disk: it has no host
