"""What a page's HTML says to the doctor: its scripts in their order, and its policies in `<meta>`."""

import base64
import hashlib
from html.parser import HTMLParser
from typing import Final

import msgspec

MAX_SCRIPTS_KEPT: Final = 500
MAX_TEXT_CHARS: Final = 20_000  # of an inline script: a stub has 1 kB
MAX_ATTRIBUTE_CHARS: Final = 2_000
# Elements that are part of the head; any other one begins the body.
HEAD_ELEMENTS: Final = frozenset(
    ["html", "head", "meta", "title", "link", "script", "style", "base", "noscript", "template"]
)
# Values of `type` with which a browser runs a script as one.
SCRIPT_TYPES: Final = frozenset(
    {"", "module", "text/javascript", "application/javascript", "text/ecmascript", "application/ecmascript"}
)


class ScriptTag(msgspec.Struct, kw_only=True):
    """A script that a browser would run. `hashes` are those of its text as a policy has them."""

    attributes: dict[str, str]
    text: str = ""
    hashes: list[str] = []
    in_head: bool = True
    styles_before: int = 0


class Markup(msgspec.Struct, kw_only=True):
    """Scripts in their order, `<meta http-equiv>` as (name, content), and the first `<base href>`."""

    scripts: list[ScriptTag] = []
    metas: list[tuple[str, str]] = []
    base: str = ""


class MarkupReader(HTMLParser):
    """Reads a page. Scripts in comments, templates and `<noscript>` do not count: a browser does not run them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.markup = Markup()
        self._in_body = False
        self._asleep = 0  # the depth of templates and noscripts
        self._styles = 0
        self._open: ScriptTag | None = None
        self._text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes: dict[str, str] = {}
        for name, value in attrs:
            attributes.setdefault(name, (value or "")[:MAX_ATTRIBUTE_CHARS])
        self._in_body = self._in_body or tag not in HEAD_ELEMENTS
        if tag in ("template", "noscript"):
            self._asleep += 1
        elif tag == "script":
            self._begin_script(attributes)
        elif self._asleep:
            return
        elif tag == "meta" and "http-equiv" in attributes:
            self.markup.metas.append((attributes["http-equiv"].strip().lower(), attributes.get("content", "")))
        elif tag == "base" and not self.markup.base:
            self.markup.base = attributes.get("href", "")
        elif tag == "link" and "stylesheet" in attributes.get("rel", "").lower().split():
            self._styles += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Reads `<script/>` as browsers do: they ignore the slash."""
        self.handle_starttag(tag, attrs)
        if tag in self.CDATA_CONTENT_ELEMENTS:
            self.set_cdata_mode(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("template", "noscript"):
            self._asleep = max(0, self._asleep - 1)
        elif tag == "script" and self._open is not None:
            self._end_script(self._open)

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._text.append(data)

    def _begin_script(self, attributes: dict[str, str]) -> None:
        is_run = attributes.get("type", "").strip().lower() in SCRIPT_TYPES and not self._asleep
        if is_run and len(self.markup.scripts) < MAX_SCRIPTS_KEPT:
            self._open = ScriptTag(attributes=attributes, in_head=not self._in_body, styles_before=self._styles)
            self._text = []

    def _end_script(self, script: ScriptTag) -> None:
        text = "".join(self._text)
        if "src" not in script.attributes:
            script.hashes = hash_text(text)
            script.text = text[:MAX_TEXT_CHARS]
        self.markup.scripts.append(script)
        self._open, self._text = None, []


def read_markup(text: str) -> Markup:
    """Returns what a page says. Time may be quadratic for hostile pages: call it in a process of its own."""
    reader = MarkupReader()
    reader.feed(text)
    reader.close()
    return reader.markup


def hash_text(text: str) -> list[str]:
    """Returns the hashes of an inline script, as a Content-Security-Policy writes them."""
    raw = text.encode("utf-8", "replace")
    return [
        f"{name}-{base64.b64encode(hashlib.new(name, raw).digest()).decode()}"
        for name in ("sha256", "sha384", "sha512")
    ]
