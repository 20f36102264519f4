"""What file managers and archivers add to folders and archives, and no one means to send."""

import re
from typing import Final

# A folder above the file, or its own name. macOS adds `._NAME` for attributes of a file that a tar cannot hold.
LITTER: Final = re.compile(
    r"(^|/)((__MACOSX|\.AppleDouble|\.fseventsd|\.Spotlight-V100|\.Trashes|@eaDir|PaxHeaders(\.[^/]*)?)/"
    r"|\._"
    r"|(\.DS_Store|\.localized|Thumbs\.db|ehthumbs\.db|desktop\.ini|Icon\r)$)",
    re.IGNORECASE,
)


def is_litter(path: str) -> bool:
    """Returns whether a file of a folder, a tar or a zip is such an addition, by its path."""
    return LITTER.search(path.replace("\\", "/")) is not None
