"""Call trees as text, and the flame graph's pure modules in Node."""

from typing import Any

from tests.format_judges import run_node

# Of functions, those that these tests leave empty.
COLUMNS = ("uri", "line", "column", "original_source", "original_line", "original_column", "category", "package")


def answer_of(text: str, *, views: int = 1, base: str | None = None) -> dict[str, Any]:
    """Returns the answer of `flamegraph` for stacks of 1 ms, a line each: `A B C` is A that called B that called C."""
    nodes: dict[tuple[int, str], int] = {}
    sides: list[dict[int, float]] = []
    for stacks in filter(None, (base, text)):
        self_ms: dict[int, float] = {}
        for stack in stacks.strip().splitlines():
            above = -1
            for name in stack.split():
                above = nodes.setdefault((above, name), len(nodes))
            self_ms[above] = self_ms.get(above, 0.0) + 1.0
        sides.append(self_ms)
    names = list(dict.fromkeys(name for _, name in nodes))
    prefix = [above for above, _ in nodes]
    head, old = sides[-1], sides[0] if base else None
    return {
        "functions": {
            "id": [str(n) for n, _ in enumerate(names)],
            **dict.fromkeys(("name", "label"), names),
            **{column: [None] * len(names) for column in COLUMNS},
        },
        "nodes": {"prefix": prefix, "function": [names.index(name) for _, name in nodes]},
        "head": side_of(head, prefix, views),
        "base": side_of(old, prefix, views) if old is not None else None,
        "pruned_nodes": 0,
    }


def side_of(self_ms: dict[int, float], prefix: list[int], views: int) -> dict[str, Any]:
    total = [self_ms.get(node, 0.0) for node in range(len(prefix))]
    for node in range(len(prefix) - 1, -1, -1):
        if prefix[node] >= 0:
            total[prefix[node]] += total[node]
    return {
        "views": views,
        "time_ms": {"js": sum(self_ms.values())},
        "self_ms": [self_ms.get(node, 0.0) for node in range(len(prefix))],
        "total_ms": total,
        "hidden_ms": [0.0] * len(prefix),
    }


def run(operation: str, answer: dict[str, Any] | None = None, asked: object = None) -> Any:  # Any: JSON
    return run_node("flame.mjs", operation, given={"answer": answer, "asked": asked})


def picture(lines: str) -> list[str]:
    return [line for line in lines.splitlines() if line.strip()]


STACKS = """
A B C
A B C
A B
A D B
E
"""
