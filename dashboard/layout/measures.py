"""What pages call the parts of time that a person can choose as a measure."""

from collections.abc import Mapping
from typing import Final

TIME_WORDS: Final[Mapping[str, str]] = {
    "self": "script time",
    "hidden": "hidden time",
    "self+hidden": "script + hidden time",
}
