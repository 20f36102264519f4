"""Functions of a JavaScript or TypeScript source: which one begins at a position, its name, and a hash of its body.

The name is the function's own: its identifier, or the key or variable that it is assigned to. A function that is only
enclosed by something, or passed to something, stays anonymous.
"""

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tree_sitter import Node

from profcore.symbolicate.lines import count_units, find_line_starts
from profcore.symbolicate.parsing import OtherLanguage, parse_source
from profcore.symbolicate.standing import FIELDS_STANDING, find_functions, receiving_call, tell_apart

FUNCTIONS: Final = frozenset(
    {
        "arrow_function",
        "class_static_block",
        "field_definition",
        "function_declaration",
        "function_expression",
        "generator_function",
        "generator_function_declaration",
        "method_definition",
        "public_field_definition",
    }
)
FIELDS: Final = frozenset({"class_static_block", "field_definition", "public_field_definition"})
CLASSES: Final = frozenset({"class", "class_declaration", "abstract_class_declaration"})
# Nodes that may be between a function and the thing it is assigned to.
WRAPPERS: Final = frozenset(
    {"parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression", "type_assertion"}
)
ACCESSORS: Final = frozenset({"get", "set"})
# Nodes that a function may be assigned to: the fields of the name and of the value.
KEYS_OF_VALUES: Final = {
    "variable_declarator": ("name", "value"),
    "assignment_expression": ("left", "right"),
    "assignment_pattern": ("left", "right"),
    "pair": ("key", "value"),
    "field_definition": ("property", "value"),
    "public_field_definition": ("name", "value"),
}
NAME_TOKENS: Final = frozenset(
    {"identifier", "number", "private_property_identifier", "property_identifier", "string", "type_identifier"}
)
IDENTIFIERS: Final = frozenset({"identifier", "shorthand_property_identifier", "shorthand_property_identifier_pattern"})
BARE: Final = re.compile(rb"[({\[;,!\s]*")
BODY_MIN_TOKENS: Final = 12  # `() => null` and similar functions are the same everywhere
HASH_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFunction:
    """A function found in a source. `name` is None for an anonymous one; a method's name includes its class.

    `key` is the text of the token that names it, with `get` or `set`. `name_at` is the place of that token (line and
    column from 1). Both are None if there is no such token. `is_property` says that the token is a property, which
    bundlers do not rename. `begins_at` is the place of its first token, or of the one that names it. `standing`
    distinguishes it from others if its name does not.
    """

    name: str | None
    key: str | None
    name_at: tuple[int, int] | None
    is_property: bool
    begins_at: tuple[int, int]
    body_hash: bytes | None
    standing: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionText:
    """The text of a function: its lines, both included, from 1, and a digest of its tokens.

    The digest leaves out comments, and blanks the function's own name, wherever its text has it. It is None if there
    are fewer than `BODY_MIN_TOKENS`.
    """

    first_line: int
    last_line: int
    digest: bytes | None


def read_scopes(text: str, path: str) -> "ScopeTree | None":
    """Returns the tree of a source; None if it is in another language than JavaScript and TypeScript."""
    try:
        return ScopeTree(text, path)
    except OtherLanguage:
        return None


class ScopeTree:
    """A parsed source. Positions are lines and columns from 1; columns count UTF-16 units."""

    def __init__(self, text: str, path: str) -> None:
        """Parses a source. Raises `OtherLanguage`."""
        self._content, self._language, self._root = parse_source(text, path)
        self._lines = find_line_starts(self._content)
        self._standings: dict[int, str | None] | None = None

    def find(self, line: int, column: int) -> SourceFunction | None:
        """Returns the function whose head (from its first token to its body) contains a position, or None."""
        path = self._find_path(line, column)
        if not path:
            return None
        token = name_token(path)
        at = None if token is None else self._position(token)
        is_property = token is not None and token.type not in ("identifier", "type_identifier")
        key = None if token is None else self._key(path[-1], token)
        return SourceFunction(
            name=self._name(path, key),
            key=key,
            name_at=at,
            is_property=is_property,
            begins_at=min(filter(None, (self._position(path[-1]), at))),
            body_hash=self._hash(path[-1], token),
            standing=self._standing(path[-1]),
        )

    def find_text(self, line: int, column: int) -> FunctionText | None:
        """Returns the text of the function that `find` finds, None if there is none."""
        path = self._find_path(line, column)
        if not path:
            return None
        token = name_token(path)
        name = None if token is None else self._content[token.start_byte : token.end_byte]
        first = path[-1] if token is None else min(path[-1], token, key=lambda node: node.start_byte)
        hasher = hashlib.blake2b(digest_size=HASH_BYTES)
        count = 0
        for leaf in _leaves(path[-1]):
            if leaf.type != "comment":
                count += 1
                text = self._content[leaf.start_byte : leaf.end_byte]
                text = b"\0" if text == name and leaf.type in NAME_TOKENS else text
                hasher.update(b"%d:" % len(text) + text)
        return FunctionText(
            first_line=self._line_of(first.start_byte) + 1,
            last_line=self._line_of(path[-1].end_byte) + 1,
            digest=hasher.digest() if count >= BODY_MIN_TOKENS else None,
        )

    def name_around(self, line: int, column: int) -> str | None:
        """Returns the name of the innermost function whose text contains a position; None if it is anonymous, too."""
        offset = self._offset(line, column)
        path = [] if offset is None else self._descend(offset)
        while path and path[-1].type not in FUNCTIONS:
            path.pop()
        token = name_token(path) if path else None
        return None if token is None else self._name(path, self._key(path[-1], token))

    def _find_path(self, line: int, column: int) -> list[Node]:
        """Returns the nodes around the function whose head contains a position, itself last; none if there is none."""
        offset = self._offset(line, column)
        if offset is None:
            return []
        path = self._descend(offset)
        if path[-1].type == "export_statement":
            path += _default_export(path[-1], offset)
        while path and path[-1].type not in FUNCTIONS and path[-1].type not in CLASSES:
            path.pop()
        return path if path and offset < _end_of_head(path[-1]) else []

    def _standing(self, node: Node) -> str | None:
        if node.type in FIELDS:
            return FIELDS_STANDING
        if self._standings is None:
            functions = find_functions(self._root, self._language, sorted(FUNCTIONS - FIELDS))
            self._standings = tell_apart(functions, self._name_functions(functions))
        return self._standings.get(node.start_byte)

    def _name_functions(self, functions: Sequence[Node]) -> Iterator[tuple[str | None, str]]:
        """Yields each function's own name, and that of the call that it is given to.

        Each way down begins where the one before ended: from the root, 3,000 nested functions took nine seconds.
        """
        path: list[Node] = []
        for node in functions:
            while path and not path[-1].start_byte <= node.start_byte < node.end_byte <= path[-1].end_byte:
                path.pop()
            path += self._descend(node.start_byte, path[-1] if path else self._root)[1 if path else 0 :]
            while path and path[-1].id != node.id:
                path.pop()
            token = name_token(path) if path else None
            name = None if token is None else self._name(path, self._key(node, token))
            yield name, receiving_call(path, self._text)

    def is_bare(self, line: int, start: int, end: int) -> bool:
        """Returns whether only opening brackets and separators are between two columns of a line."""
        first, last = self._offset(line, start), self._offset(line, end)
        return first is not None and last is not None and BARE.fullmatch(self._content[first:last]) is not None

    def _descend(self, offset: int, start: Node | None = None) -> list[Node]:
        """Returns the nodes around a byte, outermost first, below a node (or the root) that has it."""
        start = start or self._root  # a node can find its parent only from the root
        cursor = start.walk()
        path = [start]
        while cursor.goto_first_child_for_byte(offset) is not None:
            node = cursor.node
            if node is None or node.start_byte > offset:
                break
            if node.is_named:  # the keyword `class` is a node of that type too
                path.append(node)
        return path

    def _key(self, node: Node, token: Node) -> str:
        text = self._text(token)
        if token.type == "string":
            text = text[1:-1]
        if node.type == "method_definition":
            before = [child.type for child in node.children if child.start_byte < token.start_byte]
            text = " ".join([*(word for word in before if word in ACCESSORS), text])
        return text

    def _name(self, path: list[Node], key: str | None) -> str | None:
        owner = _class_of(path)
        name = None if owner is None else owner.child_by_field_name("name")
        if name is None:
            return key
        if path[-1].type == "method_definition":
            return None if key is None else f"{self._text(name)}.{key}"
        return self._text(name)

    def _text(self, node: Node) -> str:
        return self._content[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _offset(self, line: int, column: int) -> int | None:
        if not 1 <= line <= len(self._lines) or column < 1:
            return None
        start = self._lines[line - 1]
        end = self._lines[line] if line < len(self._lines) else len(self._content)
        stretch = self._content[start : min(end, start + 3 * column)]  # a UTF-16 unit has at most 3 bytes of UTF-8
        if not stretch.isascii():
            units = stretch.decode("utf-8", "replace").encode("utf-16-le", "surrogatepass")[: 2 * (column - 1)]
            return start + len(units.decode("utf-16-le", "ignore").encode("utf-8", "surrogatepass"))
        return start + column - 1 if column - 1 < end - start else None

    def _position(self, node: Node) -> tuple[int, int]:
        line = self._line_of(node.start_byte)
        before = self._content[self._lines[line] : node.start_byte]
        return line + 1, count_units(before.decode("utf-8", "replace")) + 1

    def _line_of(self, offset: int) -> int:
        """Returns the line of a byte, from 0. The grammars' own rows only count LF."""
        return bisect_right(self._lines, offset) - 1

    def _hash(self, node: Node, name: Node | None) -> bytes | None:
        """Returns a digest of a function's tokens without its own name; other identifiers count by their first use."""
        order: dict[bytes, int] = {}
        hasher = hashlib.blake2b(digest_size=HASH_BYTES)
        count = 0
        for leaf in _leaves(node):
            if leaf.type == "comment" or (name is not None and leaf.start_byte == name.start_byte):
                continue
            count += 1
            text = self._content[leaf.start_byte : leaf.end_byte]
            if leaf.type in IDENTIFIERS:
                text = b"\0%d" % order.setdefault(text, len(order))
            hasher.update(b"%d:" % len(text) + text)
        return hasher.digest() if count >= BODY_MIN_TOKENS else None


def name_token(path: list[Node]) -> Node | None:
    """Returns the token that names the function at the end of a path; None for an anonymous one."""
    node = path[-1]
    if node.type in FIELDS:
        return None  # the initialisers of a class's fields are one function, named like the class
    name = node.child_by_field_name("name") or _key_of(path)
    return name if name is not None and name.type in NAME_TOKENS else None


def _key_of(path: list[Node]) -> Node | None:
    """Returns the token of the variable, key or property that a function is assigned to."""
    depth = len(path) - 1
    while depth > 0 and path[depth - 1].type in WRAPPERS:
        depth -= 1
    if depth == 0:
        return None
    value, parent = path[depth], path[depth - 1]
    if parent.type == "jsx_expression":  # for the browser, an attribute is a key like any other
        attribute = path[depth - 2]
        return attribute.child(0) if attribute.type == "jsx_attribute" else None
    key_field, value_field = KEYS_OF_VALUES.get(parent.type, ("", ""))
    if not key_field or parent.child_by_field_name(value_field) != value:
        return None
    key = parent.child_by_field_name(key_field)
    return key.child_by_field_name("property") if key is not None and key.type == "member_expression" else key


def _default_export(statement: Node, offset: int) -> list[Node]:
    """Returns the default export at the word `default`: esbuild maps an exported function to that word."""
    is_default = any(child.type == "default" and child.start_byte == offset for child in statement.children)
    exported = statement.child_by_field_name("declaration") or statement.child_by_field_name("value")
    return [exported] if is_default and exported is not None else []


def _class_of(path: list[Node]) -> Node | None:
    """Returns the class that a method or a field belongs to, and a class itself."""
    node = path[-1]
    if node.type in CLASSES:
        return node
    is_member = node.type in (*FIELDS, "method_definition") and path[-2].type == "class_body"
    return path[-3] if is_member else None


def _end_of_head(node: Node) -> int:
    """Returns the start of a function's body: a block, a field's value, or the braces of a class."""
    body = node.child_by_field_name("value" if node.type in FIELDS else "body")
    return node.end_byte if body is None else body.start_byte


def _leaves(node: Node) -> Iterator[Node]:
    """Yields a node's tokens in order; strings and regular expressions are one token each."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if node.child_count and node.type not in ("string", "regex"):
            waiting.extend(reversed(node.children))
        else:
            yield node
