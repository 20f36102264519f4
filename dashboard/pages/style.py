"""The style page, for those who work on the dashboard: tokens and shared classes as they look. Only with DEBUG."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

import dashboard
from dashboard.web.decorators import private_page

TOKENS_PATH: Final = Path(dashboard.__file__).parent / "static" / "dashboard" / "layout" / "tokens.css"
HEAD_OR_TOKEN: Final = re.compile(r"^ +/\* (?P<head>.*?) \*/$|(?P<name>--[\w-]+): (?P<value>[^;]+);", re.MULTILINE)
DARK_STARTS: Final = "@media screen and (prefers-color-scheme: dark)"
COLOUR: Final = re.compile(r"#[0-9a-f]{6}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token of `tokens.css`. `dark` is the same as `light` if the dark theme does not change it."""

    name: str
    light: str
    dark: str
    is_colour: bool


@dataclass(frozen=True, slots=True)
class TokenGroup:
    """The tokens below one comment of `tokens.css`, which is their `head`."""

    head: str
    tokens: Sequence[Token]


@private_page
def show_style(request: HttpRequest) -> HttpResponse:
    if not settings.DEBUG:
        raise Http404
    groups = read_tokens(TOKENS_PATH.read_text(encoding="utf-8"))
    return render(request, "dashboard/style/page.html", {"groups": groups, "lines": range(4)})


def read_tokens(text: str) -> list[TokenGroup]:
    """Returns the tokens of a style sheet in its order, with their values in both themes."""
    light, _, dark = text.partition(DARK_STARTS)
    dark_values = {match["name"]: match["value"] for match in HEAD_OR_TOKEN.finditer(dark) if match["name"]}
    groups: list[tuple[str, list[Token]]] = []
    for match in HEAD_OR_TOKEN.finditer(light):
        name, value = match["name"], match["value"]
        if match["head"]:
            groups.append((match["head"], []))
        elif groups:
            is_colour = bool(COLOUR.match(value))
            groups[-1][1].append(Token(name=name, light=value, dark=dark_values.get(name, value), is_colour=is_colour))
    return [TokenGroup(head, tokens) for head, tokens in groups if tokens]
