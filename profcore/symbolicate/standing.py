"""The standing of a function in its source: it distinguishes functions that names do not.

A callback has no name, and methods of several classes or objects may share one. They differ by the functions around
them, by the function they are passed to (`sort`, `then`), and only then by their number among such. So additions
elsewhere in the source change none of it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from tree_sitter import Language, Node, Query, QueryCursor

MAX_STANDING_CHARS: Final = 400  # the inner end of it is the most specific
# Standing of the initialisers of a class's fields, which are one function with the class's name.
FIELDS_STANDING: Final = "fields"

Path = list[Node]


def find_functions(root: Node, language: Language, types: Sequence[str]) -> list[Node]:
    """Returns all nodes of some types in order of their start, outer ones first."""
    query = Query(language, "[" + " ".join(f"({name})" for name in sorted(types)) + "] @function")
    nodes = QueryCursor(query).captures(root).get("function", [])
    return sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte))


def tell_apart(functions: Sequence[Node], names: Iterable[tuple[str | None, str]]) -> dict[int, str | None]:
    """Returns the standing of each function by its start byte; None for a name that is unique in its source.

    `functions` are the result of `find_functions`. `names` has each function's own name, and its `receiving_call`.
    """
    named = list(names)
    counts = Counter(name for name, _ in named if name is not None)
    used: Counter[str] = Counter()
    around: list[tuple[int, str]] = []  # the end and the standing of each function that holds the current one
    standings: dict[int, str | None] = {}
    for node, (name, call) in zip(functions, named, strict=True):
        while around and around[-1][0] <= node.start_byte:
            around.pop()
        outer = around[-1][1] if around else ""
        place = f"{outer}/{name}" if name is not None else f"{outer}/{call}()"
        place = place[-MAX_STANDING_CHARS:]  # of each: functions within functions would take the square of their number
        used[place] += 1
        standing = place if used[place] == 1 else f"{place}#{used[place]}"
        around.append((node.end_byte, standing))
        is_alone = name is not None and counts[name] == 1
        standings.setdefault(node.start_byte, None if is_alone else standing[-MAX_STANDING_CHARS:])
    return standings


def receiving_call(path: Path, text_of: Callable[[Node], str]) -> str:
    """Returns the name of the call that the function at the end of a path is an argument of, or "".

    That is `sort` for `rows.sort(…)`.
    """
    call = path[-3] if len(path) > 2 and path[-2].type == "arguments" else None
    if call is None:
        return ""
    callee = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    if callee is None:
        return ""
    if callee.type == "member_expression":
        callee = callee.child_by_field_name("property")
    return text_of(callee) if callee is not None and callee.type in ("identifier", "property_identifier") else ""
