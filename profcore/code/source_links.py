"""Links from an original source to the project's repository: a template, filled with one func's facts."""

import re
from typing import Final
from urllib.parse import quote, urlsplit

MAX_TEMPLATE_CHARS: Final = 400
FIELDS: Final = ("release", "path", "line", "column")
PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")


class TemplateError(ValueError):
    """A template that no link can be made of; the text says why."""


def check_template(template: str) -> None:
    """Raises `TemplateError` unless a template is an http(s) address with `{path}` in it, and no unknown field.

    The fields are `{release}`, `{path}`, `{line}` and `{column}`. They stand behind the host: what is in a source map
    chooses no host.
    """
    if len(template) > MAX_TEMPLATE_CHARS or not template.isprintable() or " " in template:
        raise TemplateError(f"it must be an address of at most {MAX_TEMPLATE_CHARS} characters, without spaces")
    unknown = [name for name in PLACEHOLDER.findall(template) if name not in FIELDS]
    rest = PLACEHOLDER.sub("", template)
    if unknown or "{" in rest or "}" in rest:
        raise TemplateError(f"its fields are {', '.join('{' + name + '}' for name in FIELDS)}, and no other")
    if "{path}" not in template:
        raise TemplateError("it needs {path}")
    try:
        parts = urlsplit(template)
    except ValueError:
        raise TemplateError("it must be an address") from None
    if parts.scheme not in ("https", "http") or not parts.hostname or "{" in parts.netloc or "@" in parts.netloc:
        raise TemplateError("it must begin with https:// or http:// and a host without fields")


def make_link(template: str, *, release: str, path: str, line: int, column: int) -> str | None:
    """Returns the link of an original; None for a template that is empty, and for what an installer brought in.

    Each field is escaped, but for the slashes of the path; folders named `..` are none.
    """
    if not template or path.startswith("node_modules/"):
        return None
    folders = [folder for folder in path.split("/") if folder not in ("", ".", "..")]
    values = {
        "release": quote(release, safe=""),
        "path": "/".join(quote(folder, safe="") for folder in folders),
        "line": str(line),
        "column": str(column),
    }
    return PLACEHOLDER.sub(lambda match: values[match[1]], template)
