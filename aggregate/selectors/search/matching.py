"""How a text is looked for in names: anywhere in them, and better matches first."""

import re
from typing import Final

# The order of matches, by `matched` and `rank_params`: the name itself, names that begin with it, then shorter ones.
ORDER: Final = """(matched <> %(exact)s), (matched NOT LIKE %(prefix)s), length(matched)"""


def write_lower(column: str) -> str:
    """Returns the expression for a column's text as it is compared: ASCII letters match in both cases.

    The collation "C" is the quickest, and the same on every server.
    """
    return f'lower({column} COLLATE "C")'


def escape_like(text: str) -> str:
    """Returns a text that LIKE takes literally."""
    return re.sub(r"([\\%_])", r"\\\1", text)


def match_params(text: str) -> dict[str, str]:
    """Returns the parameters of statements that look for a text."""
    lowered = "".join(char.lower() if char.isascii() else char for char in text.replace("\0", ""))
    escaped = escape_like(lowered)
    return {"exact": lowered, "prefix": f"{escaped}%", "anywhere": f"%{escaped}%"}


def rank_name(name: str, text: str) -> tuple[bool, bool, bool, int]:
    """Returns the place of a name among matches: the text itself, at its beginning, at that of a word, shorter names.

    Words begin with a capital, or after a character that is no letter: `Rule` begins one in `findRuleFor`.
    """
    folded, wanted = name.casefold(), text.casefold()
    at = folded.find(wanted)
    begins_word = at == 0 or (at > 0 and at < len(name) and (name[at].isupper() or not name[at - 1].isalnum()))
    return folded != wanted, at != 0, not begins_word, len(name)
