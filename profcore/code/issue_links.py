"""Links that open a form for a new issue in a tracker: a template, filled with a title and a text."""

from typing import Final
from urllib.parse import quote, urlsplit

from profcore.code.source_links import PLACEHOLDER, TemplateError

MAX_TEMPLATE_CHARS: Final = 1_000
FIELDS: Final = ("title", "body")
# Of the whole address: servers refuse longer ones. A title is a line; the text is cut to fit.
MAX_LINK_CHARS: Final = 6_000
MAX_TITLE_CHARS: Final = 200
MORE: Final = " …"


def check_issue_template(template: str) -> None:
    """Raises `TemplateError` unless a template is an http(s) address with `{title}`, and maybe `{body}`, in it."""
    if len(template) > MAX_TEMPLATE_CHARS or not template.isprintable() or " " in template:
        raise TemplateError(f"it must be an address of at most {MAX_TEMPLATE_CHARS} characters, without spaces")
    unknown = [name for name in PLACEHOLDER.findall(template) if name not in FIELDS]
    rest = PLACEHOLDER.sub("", template)
    if unknown or "{" in rest or "}" in rest:
        raise TemplateError("its fields are {title} and {body}, and no other")
    if "{title}" not in template:
        raise TemplateError("it needs {title}")
    try:
        parts = urlsplit(template)
    except ValueError:
        raise TemplateError("it must be an address") from None
    if parts.scheme not in ("https", "http") or not parts.hostname or "{" in parts.netloc or "@" in parts.netloc:
        raise TemplateError("it must begin with https:// or http:// and a host without fields")


def make_issue_link(template: str, title: str, body: str) -> str | None:
    """Returns the address of a form with a title and a text in it; None for an empty template."""
    if not template:
        return None
    named = title if len(title) <= MAX_TITLE_CHARS else title[:MAX_TITLE_CHARS] + MORE
    room = MAX_LINK_CHARS - len(template) - len(quote(named, safe=""))
    quoted = quote(body, safe="")
    if len(quoted) > room:
        kept = quoted[: room - len(quote(MORE))].rsplit("%0A", 1)[0]  # whole lines
        quoted = kept + quote(MORE)
    values = {"title": quote(named, safe=""), "body": quoted}
    return PLACEHOLDER.sub(lambda match: values[match[1]], template)
