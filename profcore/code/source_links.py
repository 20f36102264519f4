"""Links to other systems, by a template: to a source in the project's repository, or to a trace in a tracing system."""

import re
from typing import Final
from urllib.parse import quote, urlsplit

MAX_TEMPLATE_CHARS: Final = 400
FIELDS: Final = "{release}, {path}, {line}, {column}"
TRACE_FIELD: Final = "{trace_id}"
PLACEHOLDER: Final = re.compile(r"\{([^{}]*)\}")


class TemplateError(ValueError):
    """A template that no link can be made of; the text says why."""


def check_template(template: str) -> None:
    """Raises `TemplateError` unless a template is an http(s) address with `{path}` in it, and no unknown field.

    The fields are `{release}`, `{path}`, `{line}` and `{column}`.
    """
    check_link(template, FIELDS, "path")


def check_trace_template(template: str) -> None:
    """Raises `TemplateError` unless a template is an http(s) address with `{trace_id}` in it, and no other field."""
    check_link(template, TRACE_FIELD, "trace_id")


def check_link(template: str, fields: str, needed: str, max_chars: int = MAX_TEMPLATE_CHARS) -> None:
    """Raises `TemplateError` unless a template is an http(s) address with `needed` in it, and no field but `fields`.

    `fields` are as the error lists them, in braces. They stand behind the host: what is in a source map, or what a page
    sends, chooses no host.
    """
    if len(template) > max_chars or not template.isprintable() or " " in template:
        raise TemplateError(f"it must be an address of at most {max_chars} characters, without spaces")
    unknown = set(PLACEHOLDER.findall(template)) - set(PLACEHOLDER.findall(fields))
    rest = PLACEHOLDER.sub("", template)
    if unknown or "{" in rest or "}" in rest:
        raise TemplateError(f"its fields are {fields}, and no other")
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
    return template.replace(TRACE_FIELD, quote(trace_id, safe="")) or None
