"""Hostile JSON: a document as a tree whose objects may repeat keys, changed by a list of small edits."""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


def pick(values: Sequence[T]) -> st.SearchStrategy[T]:
    """Draws one of some values. Hypothesis' own strategy writes them all down, and some are of 200 kB."""
    return st.integers(0, len(values) - 1).map(lambda index: values[index])


class Raw(NamedTuple):
    """A value as its bytes: what no writer of JSON would write."""

    written: bytes


class Pairs(list[tuple[bytes, Any]]):  # Any: JSON
    """The members of an object in their order; a key may occur again."""


DEEP: Final = 2_000
LONG: Final = b"x" * 5_000
NUMBERS: Final = (
    *(b"0", b"1", b"-1", b"-0", b"0.5", b"-0.0", b"1e400", b"-1e400", b"1e-400", b"1E5", b"9" * 30, b"5e-324"),
    *(b"2147483647", b"2147483648", b"4294967296", b"9007199254740993", b"9223372036854775807"),
    *(b"9223372036854775808", b"18446744073709551616", b"-9223372036854775809", b"1" + b"0" * 4_300),
    *(b"946684799999", b"4102444800001", b"1e12", b"0.0009", b"2592000001", b"1e3"),
)
TEXTS: Final = (
    *(b'""', b'" "', b'"\\u0000"', b'"a\\u0000b"', b'"\\ud800"', b'"\\udc00\\ud800"', b'"\\ud83d\\ude00"'),
    *(b'"\xf0\x9f\x98\x80"', b'"\\u202e"', b'"\\r\\n"', b'"\\"<script>"', b'"%s%(a)s{0}{{a}}"', b'"e\xcc\x81"'),
    *(b'"__proto__"', b'"/"', b'"//"', b'"https://["', b'"https://a/%"', b'"javascript:alert(1)"', b'"data:,a"'),
    *(b'"99999999999999999999"', b'"2026-11-21T10:29:50"', b'"' + LONG + b'"', b'"' + b"a-1/" * 1_000 + b'"'),
    *(b'"' + b"\\u00e9" * 400 + b'"', b'"' + b"\xf0\x9f\x98\x80" * 200 + b'"', b'"' + b"\\u0130" * 200 + b'"'),
    *(
        b'"longtask"',
        b'"gc"',
        b'"' + b"x" * 100 + b'"',
        b'"' + b"x" * 101 + b'"',
        b'"' + b"y" * 200 + b'"',
        b'"' + b"y" * 400 + b'"',
    ),
)
BROKEN: Final = (
    b'"\xff"',
    b'"\xed\xa0\x80"',
    b'"\x00"',
    b'"\\x"',
    b'"',
    b"",
    b"[" * 200_000,
    b"/**/1",
    b"NaN",
    b"01",
    b"1.",
)
OTHERS: Final = (
    *(b"null", b"true", b"false", b"[]", b"{}", b"[[]]", b"[null]", b'{"":{}}', b"[" + b"0," * 500 + b"0]"),
    *(b"[" * DEEP + b"]" * DEEP, b'{"a":' * DEEP + b"1" + b"}" * DEEP, b'{"a":1,"a":2}'),
)
HOSTILE: Final = (*NUMBERS, *TEXTS, *OTHERS, *BROKEN)


class Edit(NamedTuple):
    """One change: a way down the tree (indexes, each modulo the number of children), the deed, and its operands.

    `like` puts another value of the same type at the end of the way, and goes on to a leaf; `set` puts any value.
    """

    way: list[int]
    deed: str
    value: int
    times: int


DEEDS: Final = (*("like",) * 6, "nudge", "nudge", "repeat", "again", "swap", "remove", "rename", "wrap", "set", "set")
EDITS: Final = st.lists(
    st.builds(
        Edit,
        st.lists(st.integers(0, 40), min_size=1, max_size=7),
        pick(DEEDS),
        st.integers(0, 999),
        pick([1, 2, 3, 7, 30, 200, 1_000]),
    ),
    max_size=3,
)


def parse(body: bytes) -> Any:  # Any: JSON, objects as Pairs
    """Returns the tree of a document."""
    return json.loads(body, object_pairs_hook=lambda pairs: Pairs((json.dumps(k).encode(), v) for k, v in pairs))


def write(tree: Any) -> bytes:  # Any: as above
    """Returns the bytes of a tree."""
    pieces: list[bytes] = []
    _write(tree, pieces)
    return b"".join(pieces)


def _write(tree: Any, pieces: list[bytes]) -> None:  # Any: as above
    if isinstance(tree, Raw):
        pieces.append(tree.written)
    elif isinstance(tree, Pairs):
        pieces.append(b"{")
        for number, (key, value) in enumerate(tree):
            pieces.append((b"," if number else b"") + key + b":")
            _write(value, pieces)
        pieces.append(b"}")
    elif isinstance(tree, list):
        pieces.append(b"[")
        for number, value in enumerate(tree):
            if number:
                pieces.append(b",")
            _write(value, pieces)
        pieces.append(b"]")
    else:
        pieces.append(json.dumps(tree).encode())


def edit_tree(tree: Any, edits: Sequence[Edit]) -> Any:  # Any: as above
    """Returns the tree after some edits; trees share what has not changed."""
    for edit in edits:
        tree = _edit(tree, edit, 0)
    return tree


def edit_json(body: bytes, edits: Sequence[Edit]) -> bytes:
    """Returns the bytes of a document after some edits."""
    return write(edit_tree(parse(body), edits)) if edits else body


def _edit(tree: Any, edit: Edit, depth: int) -> Any:  # Any: as above
    goes_on = depth < len(edit.way) or edit.deed in ("like", "nudge")
    if isinstance(tree, list) and tree and goes_on:
        at = edit.way[depth % len(edit.way)] % len(tree)
        copy = type(tree)(tree)
        if depth + 1 == len(edit.way) and edit.deed in ("remove", "repeat", "rename", "swap", "again"):
            _edit_member(copy, at, edit)
        elif isinstance(copy, Pairs):
            copy[at] = copy[at][0], _edit(copy[at][1], edit, depth + 1)
        else:
            copy[at] = _edit(copy[at], edit, depth + 1)
        return copy
    return _edit_value(tree, edit)


def _edit_member(members: Any, at: int, edit: Edit) -> None:  # Any: a list or Pairs
    """Changes one member of a container, in place."""
    other = edit.times % len(members)
    if edit.deed == "remove":
        del members[at]
    elif edit.deed in ("repeat", "again"):  # of an object: a key that occurs again
        members[at:at] = [members[at]] * (edit.times if edit.deed == "repeat" else 1)
    elif edit.deed == "rename" and isinstance(members, Pairs):
        members[at] = TEXTS[edit.value % len(TEXTS)], members[at][1]
    else:
        members[at], members[other] = members[other], members[at]


def _edit_value(tree: Any, edit: Edit) -> Any:  # Any: as above
    if edit.deed == "wrap":
        for _ in range(min(edit.times, 200)):
            tree = [tree]
        return tree
    is_number = isinstance(tree, (int, float)) and not isinstance(tree, bool)
    if edit.deed == "nudge" and is_number:
        return tree + edit.times if edit.times % 2 else -tree
    others = HOSTILE if edit.deed == "set" else NUMBERS if is_number else TEXTS if isinstance(tree, str) else OTHERS
    return Raw(others[edit.value % len(others)])
