"""Numbers and their texts, which templates and scripts write alike: the scripts' tests read the same file."""

import json
from pathlib import Path
from typing import Any, Final

PATH: Final = Path(__file__).parent.parent / "scripts" / "flame" / "written.json"
# By kind, rows of what is written and its text; a space stands for a thin one.
WRITTEN: Final[dict[str, list[Any]]] = json.loads(PATH.read_text(encoding="utf-8"))  # Any: numbers, names and lists


def thin(text: str) -> str:
    """Returns a text of the file as it is written: its spaces are thin."""
    return text.replace(" ", "\u202f")
