"""Functions that a release only renamed: one function, decided by their text in the source maps of both releases.

People's overrides (`same_funcs`) come first: ids that these name are left alone. `docs/identity.md` explains it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from django.db import connection

from aggregate.selectors.code.labels import label_original
from aggregate.selectors.code.refs import FuncRef, find_ref, list_releases
from aggregate.selectors.code.symbols import FuncLabel, RowId, SourcePlace, Symbols
from aggregate.selectors.functions.originals import select_function_texts
from aggregate.selectors.functions.table import FunctionRow
from profcore.code.identity import Original


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mapped function that may have been renamed: its id across releases, its original, and where that is defined."""

    id: RowId
    original: Original
    place: SourcePlace


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherName:
    """What a function is called in other releases, the newest first; `ref` are its funcs there."""

    label: str
    releases: Sequence[str]
    ref: FuncRef


def list_candidates(rows: Iterable[FunctionRow]) -> list[Candidate]:
    """Returns the mapped functions of some rows. What display rules show as one row is no function."""
    return [
        Candidate(row.id, row.mapped.original, row.mapped.place)
        for row in rows
        if row.mapped is not None and not row.is_made
    ]


def find_renames(code: Symbols, gone: Iterable[Candidate], came: Iterable[Candidate]) -> dict[RowId, RowId]:
    """Returns the renames between functions that are gone and new ones: the new id by the old one.

    Their texts are equal, except for white space, comments and their own names. Only one gone and one new function may
    have a text, of at least `BODY_MIN_TOKENS` tokens. A function that kept its name in another source was moved, which
    is no rename. Two that ran in one release are two functions, whatever the compared views ran. Unmapped functions and
    those without a known text are never renamed. At most five statements.
    """
    decided = {*code.rules.same, *code.rules.same.values()}
    old, new = ([candidate for candidate in side if str(candidate.id) not in decided] for side in (gone, came))
    bodies = {candidate.original.body_hash for candidate in old} & {candidate.original.body_hash for candidate in new}
    both = [
        candidate
        for candidate in (*old, *new)
        if candidate.original.body_hash is not None and candidate.original.body_hash in bodies
    ]
    digests = _digest_texts(code.project_id, both)
    first, second = _find_unique(old, digests), _find_unique(new, digests)
    pairs = [
        (candidate, second[digest])
        for digest, candidate in first.items()
        if digest in second and _is_rename(candidate.original, second[digest].original)
    ]
    if not pairs:
        return {}
    releases_of = _find_bodies(
        code, {candidate.original.body_hash for candidate, _ in pairs if candidate.original.body_hash}
    ).releases
    return {before.id: after.id for before, after in pairs if releases_of[before.id].isdisjoint(releases_of[after.id])}


class _Bodies(NamedTuple):
    """The functions with some bodies, by id: their labels, and the releases in which they ran."""

    labels: dict[RowId, FuncLabel]
    releases: dict[RowId, set[str]]


def _find_bodies(code: Symbols, hashes: Collection[bytes]) -> _Bodies:
    """Returns all functions with some bodies. Two statements."""
    assert code.labels is not None
    bodies = _Bodies({}, defaultdict(set))
    pairs = _select_bodies(code.project_id, hashes)
    code.labels.load(pairs)
    for release, func_id in pairs:
        if (label := code.labels.of(release, func_id)) is not None:
            row_id = code.labels.id_of(release, func_id)
            bodies.releases[row_id].add(release)
            bodies.labels[row_id] = label
    return bodies


def select_other_names(code: Symbols, func: FunctionRow) -> list[OtherName]:
    """Returns what a function was renamed from and to, over all releases. Seven statements for each, if there are any.

    That is every function with its text, if no release has two of them.
    """
    if code.labels is None or func.mapped is None or func.mapped.original.body_hash is None:
        return []
    labels, releases_of = _find_bodies(code, [func.mapped.original.body_hash])
    decided = {*code.rules.same, *code.rules.same.values()}
    if func.id not in labels or len(labels) < 2 or not decided.isdisjoint(map(str, labels)):
        return []
    candidate = Candidate(func.id, func.mapped.original, func.mapped.place)
    others = [Candidate(row_id, label.original, label.place) for row_id, label in labels.items() if row_id != func.id]
    digests = _digest_texts(code.project_id, [candidate, *others])
    alike = [other for other in others if candidate in digests and digests.get(other) == digests[candidate]]
    every = [release for same in (candidate, *alike) for release in releases_of[same.id]]
    if len(every) > len(set(every)) or not all(_is_rename(candidate.original, same.original) for same in alike):
        return []
    order = {release: place for place, release in enumerate(list_releases(code.project_id))}
    return [
        OtherName(
            label=label_original(same.original),
            releases=sorted(releases_of[same.id], key=lambda release: order.get(release, len(order))),
            ref=find_ref(code.project_id, same.id, code),
        )
        for same in alike
    ]


def _is_rename(old: Original, new: Original) -> bool:
    """Returns whether two functions with one text are one: their names differ, or both have none in the same source."""
    if old.name is None or new.name is None:
        return old.name == new.name and old.source == new.source
    return old.name != new.name


def _find_unique(side: Sequence[Candidate], digests: Mapping[Candidate, bytes]) -> dict[bytes, Candidate]:
    candidates_of: dict[bytes, list[Candidate]] = defaultdict(list)
    for candidate in side:
        if (digest := digests.get(candidate)) is not None:
            candidates_of[digest].append(candidate)
    return {digest: several[0] for digest, several in candidates_of.items() if len(several) == 1}


def _digest_texts(project_id: int, candidates: Sequence[Candidate]) -> dict[Candidate, bytes]:
    """Returns the digest of each function's text, as far as it is known. One statement."""
    texts = select_function_texts(project_id, {candidate.place for candidate in candidates})
    return {
        candidate: text.digest
        for candidate in candidates
        if (text := texts.get(candidate.place)) is not None and text.digest is not None
    }


def _select_bodies(project_id: int, hashes: Collection[bytes]) -> list[tuple[str, int]]:
    """Returns the (release, func) of all labels with some bodies. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT release, func_id FROM aggregate_label WHERE project_id = %s AND body_hash = ANY(%s::bytea[])",
            [project_id, list(hashes)],
        )
        return [(release, func_id) for release, func_id in cursor]
