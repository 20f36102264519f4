"""Links that open a form for a new issue in a tracker: a template, filled with a title and a text."""

from typing import Final
from urllib.parse import quote

from profcore.code.source_links import PLACEHOLDER, check_link

MAX_TEMPLATE_CHARS: Final = 1_000
FIELDS: Final = "{title} and {body}"
# Of the whole address: servers refuse longer ones. A title is a line; the text is cut to fit.
MAX_LINK_CHARS: Final = 6_000
MAX_TITLE_CHARS: Final = 200
MORE: Final = " …"


def check_issue_template(template: str) -> None:
    """Raises `TemplateError` unless a template is an http(s) address with `{title}`, and maybe `{body}`, in it."""
    check_link(template, FIELDS, "title", MAX_TEMPLATE_CHARS)


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
