"""A page's scripts, the snippet's, and a place where a known version of the snippet has a function."""

from typing import Final

from profcore.trace.funcs import SNIPPET_FUNCTIONS

VERSION: Final = "1.0.0"
LINE, COLUMN = max(SNIPPET_FUNCTIONS[VERSION])
APP: Final = "https://shop.example/app.js"
ADDRESS: Final = "https://profiles.example/snippet.js"
