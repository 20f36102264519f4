"""The version of Fieldflame, as in pyproject.toml, which an image does not have."""

from typing import Final

VERSION: Final = "1.0.0"
