"""What a project's rules would change, before anything does."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.db import connection

from aggregate.selectors.code import Code, select_code
from aggregate.selectors.functions import FunctionRow, label_rows, select_parts
from aggregate.selectors.slices import Slice
from profcore.code_rules import CodeRules

# The newest funcs of a project, which stand for all: each is held against all rules twice, some 50 µs.
PREVIEW_MAX_FUNCS: Final = 5_000
MAX_MOVED: Final = 200
KINDS: Final = ("category", "package", "party")


@dataclass(frozen=True, slots=True)
class MovedFunc:
    """A func that rules would move: by kind (`category`, `package`, `party`), what it is and what it would be."""

    func: FunctionRow
    changes: Mapping[str, tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class CodePreview:
    """How many funcs were looked at; how many are of each group now and then, by kind; which would move."""

    func_count: int
    before: Mapping[str, Counter[str | None]]
    after: Mapping[str, Counter[str | None]]
    moved_count: int
    moved: Sequence[MovedFunc]


def preview_code(project_id: int, rules: CodeRules) -> CodePreview:
    """Returns what rules would change for a project's newest funcs. Nothing is stored. Five statements at most."""
    now = select_code(project_id)
    rows = label_rows(now, _select_newest(project_id))
    then = Code(project_id, now.origins, rules, now.version, now.labels)
    before: dict[str, Counter[str | None]] = {kind: Counter() for kind in KINDS}
    after: dict[str, Counter[str | None]] = {kind: Counter() for kind in KINDS}
    moved = []
    for row in rows:
        was, will = _tell(now, row), _tell(then, row)
        for kind in KINDS:
            before[kind][was[kind]] += 1
            after[kind][will[kind]] += 1
        if was != will:
            moved.append(MovedFunc(row, {kind: (was[kind], will[kind]) for kind in KINDS if was[kind] != will[kind]}))
    return CodePreview(len(rows), before, after, len(moved), moved[:MAX_MOVED])


@dataclass(frozen=True, slots=True)
class Move:
    """What goes from one category to another: how many funcs, and their self time in JS."""

    before: str | None
    after: str | None
    func_count: int
    js_us: int


@dataclass(frozen=True, slots=True)
class CategoryMoves:
    """Which JS time of a slice rules would give another category; `js_us` is all of it. Most time first."""

    func_count: int
    js_us: int
    moves: Sequence[Move]

    @property
    def moved_us(self) -> int:
        """The JS time that moves."""
        return sum(move.js_us for move in self.moves)


def preview_moves(slice_: Slice, rules: CodeRules) -> CategoryMoves:
    """Returns how much of a slice's JS time rules would move from which category to which. Nothing is stored.

    Of all its funcs, each release's apart: some 50 µs each. Six statements at most.
    """
    now = select_code(slice_.project_id)
    then = Code(slice_.project_id, now.origins, rules, now.version, now.labels)
    counts: Counter[tuple[str | None, str | None]] = Counter()
    times: Counter[tuple[str | None, str | None]] = Counter()
    rows = select_parts(slice_, now).functions
    for row in rows:
        pair = now.categorize(row.key, row.mapped), then.categorize(row.key, row.mapped)
        if pair[0] != pair[1]:
            counts[pair] += 1
            times[pair] += row.self_us
    moves = [Move(*pair, counts[pair], js_us) for pair, js_us in times.most_common()]
    return CategoryMoves(len(rows), sum(row.self_us for row in rows), moves)


def _tell(code: Code, row: FunctionRow) -> dict[str, str | None]:
    return {
        "category": code.categorize(row.key, row.mapped),
        "package": code.package_of(row.key, row.mapped),
        "party": code.party_of(row.key, row.mapped),
    }


def _select_newest(project_id: int) -> list[FunctionRow]:
    """Returns a project's newest funcs, each in the newest release that has a label for it."""
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT f.id, f.name, f.uri, f.line, f.col, 0, 0, 0, 0, 0, NULL::bigint, NULL::text,
                      (SELECT max(l.release) FROM aggregate_label l WHERE l.project_id = f.project_id
                       AND l.func_id = f.id)
               FROM aggregate_func f WHERE f.project_id = %s ORDER BY f.id DESC LIMIT %s""",
            [project_id, PREVIEW_MAX_FUNCS],
        )
        return [replace(FunctionRow(*row[:-1]), release=row[-1]) for row in cursor]
