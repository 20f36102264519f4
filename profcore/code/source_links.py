"""Links to other systems, by a template: to a source in the project's repository, or to a trace in a tracing system."""

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, urlsplit

MAX_TEMPLATE_CHARS: Final = 400
FIELDS: Final = ("release", "path", "line", "column")
TRACE_ID: Final = "trace_id"
PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")


class TemplateError(ValueError):
    """A template that no link can be made of; the text says why."""


def check_template(template: str) -> None:
    """Raises `TemplateError` unless a template is an http(s) address with `{path}` in it, and no unknown field.

    The fields are `{release}`, `{path}`, `{line}` and `{column}`.
    """
    _check(template, FIELDS, "path")


def check_trace_template(template: str) -> None:
    """Raises `TemplateError` unless a template is an http(s) address with `{trace_id}` in it, and no other field."""
    _check(template, (TRACE_ID,), TRACE_ID)


def _check(template: str, fields: Sequence[str], needed: str) -> None:
    """Fields stand behind the host: what is in a source map, or what a page sends, chooses no host."""
    if len(template) > MAX_TEMPLATE_CHARS or not template.isprintable() or " " in template:
        raise TemplateError(f"it must be an address of at most {MAX_TEMPLATE_CHARS} characters, without spaces")
    unknown = [name for name in PLACEHOLDER.findall(template) if name not in fields]
    rest = PLACEHOLDER.sub("", template)
    if unknown or "{" in rest or "}" in rest:
        raise TemplateError(f"its fields are {', '.join('{' + name + '}' for name in fields)}, and no other")
    if f"{{{needed}}}" not in template:
        raise TemplateError(f"it needs {{{needed}}}")
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


def make_trace_link(template: str, trace_id: str) -> str | None:
    """Returns the link of a trace in a tracing system; None without a template."""
    return template.replace(f"{{{TRACE_ID}}}", quote(trace_id, safe="")) or None
