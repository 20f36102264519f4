"""Foreign text for people: names of functions, pages and releases come from anybody who can post a trace."""

import unicodedata
from typing import Final

REPLACEMENT: Final = "\ufffd"
# What a runner of CI reads as a command wherever it stands in a line. `::command::` counts at the beginning of a line
# only, where this command never prints foreign text.
COMMANDS: Final = (("##[", "## ["), ("##vso[", "##vso ["))
MAX_CHARS: Final = 200


def clean(text: str, most: int = MAX_CHARS) -> str:
    """Returns a text for one line of a log: without line breaks, other controls and marks that turn text around."""
    plain = "".join(character if _is_shown(character) else REPLACEMENT for character in text[: most + 1])
    for command, harmless in COMMANDS:
        plain = plain.replace(command, harmless)
    return plain if len(text) <= most else plain[:most] + "…"


def _is_shown(character: str) -> bool:
    # Cc and Cf: controls, and marks of direction. Zl and Zp end lines. Cs and Cn have no meaning.
    return character == "\u202f" or unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp", "Cs", "Cn")
