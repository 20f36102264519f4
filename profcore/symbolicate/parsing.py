"""Parsing a source by the grammar of its language, so that its bytes keep their lines."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import tree_sitter_javascript
import tree_sitter_typescript
from tree_sitter import Language, Node, Parser

from profcore.symbolicate.languages import Grammar, language_of, language_of_script
from profcore.symbolicate.lines import SEPARATOR, blank

SCRIPT_BEGIN: Final = re.compile(r"<script\b", re.IGNORECASE)
SCRIPT_END: Final = re.compile(r"</script\b", re.IGNORECASE)
LONE_CR: Final = re.compile(rb"\r(?!\n)")


class OtherLanguage(ValueError):
    """A source is in a language that no grammar here reads."""


class ParsedSource(NamedTuple):
    """A parsed source: its bytes, the grammar as queries need it, and the root of its tree."""

    content: bytes
    language: Language
    root: Node


class _Script(NamedTuple):
    """A `<script>` element of a component: its attributes, and where its content is."""

    attributes: str
    start: int
    end: int


@lru_cache(maxsize=4)
def _parser(grammar: Grammar) -> Parser:
    grammars = {
        "javascript": tree_sitter_javascript.language,
        "typescript": tree_sitter_typescript.language_typescript,
        "tsx": tree_sitter_typescript.language_tsx,
    }
    return Parser(Language(grammars[grammar]()))


def parse_source(text: str, path: str) -> ParsedSource:
    """Returns a parsed source. Only its scripts are left of a component. Raises `OtherLanguage`."""
    language = language_of(path)
    if language.grammar is None:
        raise OtherLanguage(language.name)
    is_assumed = language.is_assumed
    if language.is_component:
        scripts = list(_find_scripts(text))
        for script in scripts:
            if language_of_script(script.attributes).grammar is None:
                raise OtherLanguage(script.attributes.strip())
        text = _keep(text, scripts) if scripts else text
        is_assumed = not scripts  # some tools give only the script of a component as its source
    # The grammars know CR as white space only, so that a statement before it would not end there.
    content = LONE_CR.sub(b"\n", text.encode("utf-8", "surrogatepass"))
    parser = _parser(language.grammar)
    root = _parse(parser, content)
    if is_assumed and root.has_error:
        raise OtherLanguage(path)
    assert parser.language is not None
    return ParsedSource(content, parser.language, root)


def _parse(parser: Parser, content: bytes) -> Node:
    """Returns the root of a parsed source.

    TypeScript's grammar ends no statement at U+2028 and U+2029. Within strings they are no line ends for it.
    """
    root = parser.parse(content).root_node
    if root.has_error and SEPARATOR.search(content):
        other = parser.parse(SEPARATOR.sub(b"\n  ", content)).root_node
        return root if other.has_error else other
    return root


def _find_scripts(text: str) -> Iterator[_Script]:
    """Yields the scripts of a component file. Takes linear time."""
    at = 0
    while (begin := SCRIPT_BEGIN.search(text, at)) and (start := text.find(">", begin.end()) + 1):
        end = SCRIPT_END.search(text, start)
        if end is None:
            break
        yield _Script(text[begin.end() : start - 1], start, end.start())
        at = end.start()


def _keep(text: str, scripts: list[_Script]) -> str:
    """Blanks everything except some scripts; lines and columns stay."""
    kept, at = [], 0
    for script in scripts:
        kept += [blank(text[at : script.start]), text[script.start : script.end]]
        at = script.end
    return "".join([*kept, blank(text[at:])])
