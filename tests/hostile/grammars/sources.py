"""Sources by a grammar of JavaScript, TypeScript and components, with the functions that begin in them; and soups."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from hypothesis import strategies as st

from profcore.symbolicate.lines import count_line_ends, read_lines, split_lines
from profcore.symbolicate.scopes import read_scopes
from tests.hostile.cases import SourceCase
from tests.hostile.edits import pick
from tests.hostile.measuring import check_cpu

ENDS: Final = ("\n", "\n", "\r\n", "\r", "\u2028", "\u2029")  # ECMA-262, section 12.3
WORDS: Final = ("f", "$", "_a", "größe", "名", "async", "of", "type")
HALF: Final = chr(0xD83D)  # of a surrogate pair
MARK: Final = "\0"  # begins a function whose name follows, up to the next mark; not in a text that is written


class Nest(NamedTuple):
    """A piece of source in which NUL marks where a function begins: `\\0name\\0`."""

    text: str


def _declare(name: str, body: str) -> str:
    return f"{MARK}{name}{MARK}function {name}(a, b = 1) {{{body}}}"


def _arrow(name: str, body: str) -> str:
    return f"const {name} = {MARK}{name}{MARK}(x) => {{{body}}};"


def _method(name: str, body: str) -> str:
    return f"class C {{ {MARK}C.{name}{MARK}{name}(a) {{{body}}} }}"


def _property(name: str, body: str) -> str:
    return f"const o = {{ {name}: {MARK}{name}{MARK}function () {{{body}}} }};"


def _call(name: str, body: str) -> str:
    return f"{name}(function () {{{body}}});"


def _template(name: str, body: str) -> str:
    return f"const t = `a ${{(() => {{{body}}})()}} {{ ( ${{'`'}}`;"


FORMS: Final = (_declare, _arrow, _method, _property, _call, _template)
# Statements that a reader of lines, strings or comments may trip over.
NOISE: Final = (
    *("", ";", "// function no() {", "/* function no() { \n \r \u2028 */", "'function no() {';", '"\\\n";', "`\n{(`;"),
    *(
        "/[/{(]/g.test('');",
        "a = b / c / d;",
        "if (a) { b(); } else { c(); }",
        "x: for (;;) { break x; }",
        "'🎈' + 'é';",
    ),
    *(
        "'</scr' + 'ipt>';",
        "[...[1, 2]];",
        "a?.b ?? c;",
        "// sourceMappingURL=x.map",
        "({ a, b: [c] });",
        "0 <!--1;"[:2] + ";",
    ),
)
SOUP: Final = (
    *"(){}[];,.:?=><`'\"/*\\#@!~^|&%+-",
    *(
        "a",
        "<",
        "a<b,",
        "/[",
        "${",
        "=>",
        "function",
        "class ",
        "async ",
        "<script>",
        "</script>",
        "<!--",
        "<?",
        "get ",
    ),
    *(
        "type A<",
        "as ",
        "import(",
        "\n",
        "\r",
        "\u2028",
        HALF,
        "🎈",
        "\0x",
        "0x",
        "1n",
        "@d ",
        "static{",
        "#p",
        "...",
    ),
)
STATEMENTS: Final = st.recursive(
    pick(NOISE).map(Nest),
    lambda inner: st.builds(
        lambda form, name, parts, end: Nest(form(name, end + end.join(part.text for part in parts) + end)),
        pick(FORMS),
        pick(WORDS),
        st.lists(inner, max_size=3),
        pick(ENDS),
    ),
    max_leaves=12,
)
PATHS: Final = ("src/a.js", "src/a.ts", "src/a.mts", "webpack://x/a.js?1", "a.vue", "b.svelte")


def write_source(statements: Sequence[Nest], ends: Sequence[str], path: str) -> SourceCase:
    """Returns a valid source, and its functions by their places."""
    code = "".join(part.text + ends[at % len(ends)] for at, part in enumerate(statements))
    if path.endswith((".vue", ".svelte")):
        code = (
            f"<template><b>{{{{ a < b }}}}</b></template>\r\n<script lang='ts'>\n{code}</script>\n<style>a {{}}</style>"
        )
    pieces = code.split(MARK)
    text = ""
    functions = []
    for at, piece in enumerate(pieces):
        if at % 2:
            before = split_lines(text)
            functions.append((len(before), len(before[-1].encode("utf-16-le")) // 2 + 1, piece))
        else:
            text += piece
    return SourceCase(path, text.encode(), functions)


SOURCES: Final = st.builds(
    write_source, st.lists(STATEMENTS, max_size=6), st.lists(pick(ENDS), min_size=1, max_size=3), pick(PATHS)
) | st.builds(
    lambda tokens, times, path: SourceCase(path, ("".join(tokens) * times).encode("utf-8", "surrogatepass"), []),
    st.lists(pick(SOUP), max_size=12),
    pick([1, 1, 2, 30]),
    pick([*PATHS, "a.html", "a.coffee", "a", "a.tsx", "a.jsx"]),
)


def check_source(case: SourceCase) -> None:
    """Reads a source: its functions are found by their places, and its lines alike by both who count them."""
    text = case.text.decode("utf-8", "surrogatepass")
    found: list[str | None] = []

    def read() -> None:
        scopes = read_scopes(text, case.path)
        for line, column, _ in case.functions:
            function = None if scopes is None else scopes.find(line, column)
            found.append(None if function is None else function.name)
        for line in (1, 2, text.count("\n")):
            scopes and scopes.find(line, 1) and scopes.find_text(line, 1)

    check_cpu(read)
    assert found == [name for _, _, name in case.functions]
    lines = split_lines(text)
    assert len(lines) == count_line_ends(text) + 1
    for first in (0, 1, len(lines) // 2, len(lines) - 1, len(lines)):
        assert read_lines(text, first, 3) == (lines[first : first + 3], len(lines))
