"""A preview of changed code rules: which funcs would get another category, package or party."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db import connection

from aggregate.selectors.code.symbols import Symbols, load_symbols
from aggregate.selectors.functions.table import FunctionRow, label_rows, select_parts
from aggregate.selectors.slice.slices import Slice
from profcore.code.code_rules import CodeRules

# The newest funcs of a project, which stand for all: each is matched against all rules twice, about 50 µs.
PREVIEW_MAX_FUNCS: Final = 5_000
MAX_MOVED: Final = 200
KINDS: Final = ("category", "package", "party")


@dataclass(frozen=True, slots=True)
class MovedFunc:
    """A func that rules would move. `changes` has (now, then) by kind: `category`, `package`, `party`."""

    func: FunctionRow
    changes: Mapping[str, tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodePreview:
    """The number of funcs looked at, their numbers in each group before and after, by kind, and those that move."""

    func_count: int
    before: Mapping[str, Counter[str | None]]
    after: Mapping[str, Counter[str | None]]
    moved_count: int
    moved: Sequence[MovedFunc]


def preview_code(project_id: int, rules: CodeRules) -> CodePreview:
    """Returns what rules would change for a project's newest funcs. Nothing is stored. Five statements at most."""
    now = load_symbols(project_id)
    rows = label_rows(now, _select_newest(project_id))
    then = Symbols(project_id=project_id, origins=now.origins, rules=rules, version=now.version, labels=now.labels)
    before: dict[str, Counter[str | None]] = {kind: Counter() for kind in KINDS}
    after: dict[str, Counter[str | None]] = {kind: Counter() for kind in KINDS}
    moved = []
    for row in rows:
        was, will = _classify(now, row), _classify(then, row)
        for kind in KINDS:
            before[kind][was[kind]] += 1
            after[kind][will[kind]] += 1
        if was != will:
            moved.append(MovedFunc(row, {kind: (was[kind], will[kind]) for kind in KINDS if was[kind] != will[kind]}))
    return CodePreview(
        func_count=len(rows), before=before, after=after, moved_count=len(moved), moved=moved[:MAX_MOVED]
    )


@dataclass(frozen=True, slots=True)
class Move:
    """The funcs that go from one category to another: how many, and their self time in JS."""

    before: str | None
    after: str | None
    func_count: int
    js_us: int


@dataclass(frozen=True, slots=True)
class CategoryMoves:
    """The JS time of a slice that rules would give another category, most first; `js_us` is all of its JS time."""

    func_count: int
    js_us: int
    moves: Sequence[Move]

    @property
    def moved_us(self) -> int:
        """The JS time that moves."""
        return sum(move.js_us for move in self.moves)


def preview_moves(slice_: Slice, rules: CodeRules) -> CategoryMoves:
    """Returns how much of a slice's JS time rules would move from one category to another. Nothing is stored.

    It looks at all funcs of the slice, separately for each release: about 50 µs each. Six statements at most.
    """
    now = load_symbols(slice_.project_id)
    then = Symbols(
        project_id=slice_.project_id, origins=now.origins, rules=rules, version=now.version, labels=now.labels
    )
    counts: Counter[tuple[str | None, str | None]] = Counter()
    times: Counter[tuple[str | None, str | None]] = Counter()
    rows = select_parts(slice_, now).functions
    for row in rows:
        pair = now.categorize(row.key, row.mapped), then.categorize(row.key, row.mapped)
        if pair[0] != pair[1]:
            counts[pair] += 1
            times[pair] += row.self_us
    moves = [
        Move(before=pair[0], after=pair[1], func_count=counts[pair], js_us=js_us) for pair, js_us in times.most_common()
    ]
    return CategoryMoves(len(rows), sum(row.self_us for row in rows), moves)


def _classify(code: Symbols, row: FunctionRow) -> dict[str, str | None]:
    return {
        "category": code.categorize(row.key, row.mapped),
        "package": code.package_of(row.key, row.mapped),
        "party": code.party_of(row.key, row.mapped),
    }


def _select_newest(project_id: int) -> list[FunctionRow]:
    """Returns a project's newest funcs, each in the newest release that has a label for it."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT f.id, f.name, f.uri, f.line, f.col,
                      (SELECT max(l.release) FROM aggregate_label l WHERE l.project_id = %(project_id)s
                       AND l.func_id = f.id)
               FROM aggregate_func f WHERE f.project_id = %(project_id)s ORDER BY f.id DESC LIMIT %(limit)s""",
            {"project_id": project_id, "limit": PREVIEW_MAX_FUNCS},
        )
        return [
            FunctionRow(id=func_id, name=name, uri=uri, line=line, column=column, release=release)
            for func_id, name, uri, line, column, release in cursor
        ]
