"""What is known of a project's code: its own sites and rules, and the labels that source maps give to its funcs.

Labels are joined when read and stored in no sum. They are remembered in each process, by (release, func), for as long
as the project's uploaded scripts and their progress stay what they were.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple

from django.conf import settings
from django.db import connection

from aggregate.selectors.categories import select_sites
from aggregate.selectors.labels import label_func, label_original
from profcore.categories import categorize
from profcore.code_rules import CodeRules, read_code_rules
from profcore.display_rules import DisplayRules, Shown, read_display_rules
from profcore.funcs import FuncKey
from profcore.identity import MAPPED_ID, Original, mapped_id, source_part
from profcore.packages import canonical_source, own_package_of, package_of
from profcore.parties import FIRST_PARTY
from profcore.sites import origin_of, party_of, sites_of

RowId = int | str
Pair = tuple[str, int]  # a release, and a func's id
MAPPED: Final = 0  # Label.Status.MAPPED
NO_DISPLAY_RULES: Final = DisplayRules()
BY_SITE: Final = ("category", "party")  # what goes by the project's sites, which may change by themselves

VERSION: Final = """
SELECT p.code_rules::text, p.display_rules::text, s.scripts, s.version,
       ARRAY(SELECT DISTINCT unnest(k.origins) FROM ingest_ingestkey k
             WHERE k.project_id = p.id AND k.revoked_at IS NULL) AS origins
FROM ingest_project p
CROSS JOIN LATERAL (
    SELECT count(*) AS scripts, bit_xor(hashtextextended(concat_ws(' ', r.id, r.map_id, r.bundle_id, r.attempts,
               r.labelled_func_id, r.pending_at, r.uploaded_at), 0)) AS version
    FROM aggregate_releasescript r WHERE r.project_id = p.id) s
WHERE p.id = %s
"""
# A release's own label comes first; where it has no script of that URL, another release's tells, if the URL has a hash.
LABELS: Final = """
SELECT DISTINCT ON (w.release, w.func_id)
       w.release, w.func_id, l.status, l.source_id, s.name AS source, s.path, l.line, l.col, l.name, l.body_hash,
       l.standing
FROM unnest(%(releases)s::text[], %(funcs)s::int[]) AS w (release, func_id)
JOIN aggregate_label l ON l.project_id = %(project_id)s AND l.func_id = w.func_id
     AND (l.release = w.release OR l.is_shared)
LEFT JOIN aggregate_source s ON s.project_id = l.project_id AND s.id = l.source_id
ORDER BY w.release, w.func_id, (l.release = w.release) DESC, l.release DESC
"""
# Names that several functions of one source have, in some release, where no text tells them apart.
DOUBTFUL: Final = """
SELECT DISTINCT min(s.path), l.name
FROM aggregate_label l JOIN aggregate_source s ON s.project_id = l.project_id AND s.id = l.source_id
WHERE l.project_id = %s AND l.status = 0 AND l.name IS NOT NULL AND s.content IS NULL
GROUP BY l.release, regexp_replace(s.path, '^(.*/)?node_modules/', 'node_modules/'), l.name
HAVING count(DISTINCT (l.line, l.col)) > 1
"""


class FuncLabel(NamedTuple):
    """What a func is in a release: its id across releases, its original, the package that lies in, and its source.

    `npm_package` is that which an installer brought in, None for the project's own code.
    """

    identity: str
    original: Original
    package: str | None
    source_id: int
    npm_package: str | None


@dataclass(slots=True)
class _Known:
    """What is remembered of one project's labels, at one version of them."""

    version: tuple[int, int, str]
    doubtful: frozenset[tuple[str, str | None]] | None = None
    labels: dict[Pair, FuncLabel | None] = field(default_factory=dict)


_known: dict[int, _Known] = {}
ShownKey = tuple[FuncKey, FuncLabel | None]
_shown: dict[int, tuple[tuple[int, int, str, str], dict[ShownKey, Shown | None]]] = {}


class Labels:
    """The labels of a project at one moment. Ask for them with `load`, which is one statement at most."""

    __slots__ = ("_known", "_own", "_project_id", "_rules")

    def __init__(self, project_id: int, known: _Known, rules: CodeRules) -> None:
        self._project_id = project_id
        self._known = known
        self._rules = rules
        self._own: dict[Pair, FuncLabel | None] = {}  # what others forget meanwhile stays here

    def load(self, pairs: Iterable[Pair]) -> None:
        """Makes the labels of some funcs known."""
        known, wanted = self._known, [pair for pair in dict.fromkeys(pairs) if pair not in self._own]
        remembered = known.labels
        missing = [pair for pair in wanted if pair not in remembered]
        self._own |= {pair: remembered.get(pair) for pair in wanted}
        if not missing:
            return
        if known.doubtful is None:
            known.doubtful = _select_doubtful(self._project_id)
        found = self._select(missing)
        fresh = {pair: found.get(pair) for pair in missing}
        self._own |= fresh
        is_full = len(remembered) + len(fresh) > settings.LABELS_CACHE_ROWS
        known.labels = fresh if is_full else remembered | fresh

    def of(self, release: str, func_id: int) -> FuncLabel | None:
        """Returns a func's label in a release, None where no map has one; `load` has been told of it."""
        return self._own.get((release, func_id))

    def id_of(self, release: str, func_id: int) -> RowId:
        """Returns the id that a func goes by in tables: across releases where it is mapped, else its own."""
        label = self.of(release, func_id)
        own = label.identity if label else str(func_id)
        led = self._rules.same.get(own, own)
        return int(led) if led.isdigit() else led

    def _select(self, pairs: list[Pair]) -> dict[Pair, FuncLabel]:
        with connection.cursor() as cursor:
            cursor.execute(
                LABELS,
                {
                    "project_id": self._project_id,
                    "releases": [release for release, _ in pairs],
                    "funcs": [func_id for _, func_id in pairs],
                },
            )
            rows = cursor.fetchall()
        return {
            (release, func_id): self._make(
                source_id, source, Original(path, line, column, name, None if body is None else bytes(body), standing)
            )
            for release, func_id, status, source_id, source, path, line, column, name, body, standing in rows
            if status == MAPPED and path is not None
        }

    def _make(self, source_id: int, source: str, stored: Original) -> FuncLabel:
        original = stored._replace(source=canonical_source(stored.source))
        is_doubtful = (original.source, original.name) in (self._known.doubtful or frozenset())
        npm = package_of(source) or package_of(stored.source)
        package = npm or own_package_of(original.source, self._rules.packages)
        return FuncLabel(mapped_id(original, is_doubtful=is_doubtful), original, package, source_id, npm)

    def funcs_of(self, row_id: str) -> list[int]:
        """Returns the funcs that may go by an id in some release, in ascending order: ask `id_of` for each release.

        Two statements at most.
        """
        names = [row_id, *(old for old, new in self._rules.same.items() if new == row_id)]
        funcs = {int(name) for name in names if name.isdigit()}
        parts = {match[1] for name in names if (match := MAPPED_ID.fullmatch(name))}
        if parts:
            with connection.cursor() as cursor:
                cursor.execute("SELECT id, path FROM aggregate_source WHERE project_id = %s", [self._project_id])
                sources = [source_id for source_id, path in cursor if source_part(canonical_source(path)) in parts]
                cursor.execute(
                    """SELECT DISTINCT l.release, l.func_id FROM aggregate_label l
                       WHERE l.project_id = %s AND l.source_id = ANY(%s::int[])""",
                    [self._project_id, sources],
                )
                pairs = cursor.fetchall()
            self.load(pairs)
            funcs |= {func_id for release, func_id in pairs if str(self.id_of(release, func_id)) == row_id}
        return sorted(funcs)


@dataclass(slots=True)
class Code:
    """What is known of a project's code. `labels` is None where no source map is in, and no func stands for another.

    `version` is another whenever labels or rules are. `origins` are those of the project's live keys. `display` has no
    rules where functions are asked for as they are stored.
    """

    project_id: int
    origins: Sequence[str]
    rules: CodeRules
    version: tuple[int, int, str, str]
    labels: Labels | None = None
    display: DisplayRules = NO_DISPLAY_RULES
    _sites: frozenset[str] | None = None
    _categories: dict[tuple[FuncKey, str | None], str | None] = field(default_factory=dict)
    _shown: dict[ShownKey, Shown | None] = field(default_factory=dict)

    @property
    def sites(self) -> frozenset[str]:
        """The project's own sites. One statement where a key takes any origin, but for some seconds after."""
        if self._sites is None:
            self._sites = select_sites(self.project_id) if "*" in self.origins else sites_of(self.origins)
        return self._sites

    def categorize(self, key: FuncKey, label: FuncLabel | None = None) -> str | None:
        """Returns a func's category."""
        source = label.original.source if label else None
        if (key, source) not in self._categories:
            found = categorize(key, self.sites, self.rules.categories, source=source, parties=self.rules.parties)
            self._categories[key, source] = found
        return self._categories[key, source]

    def package_of(self, key: FuncKey, label: FuncLabel | None = None) -> str | None:
        """Returns a func's package: that of its original, else the one that its script's URI names."""
        if label is None:
            return package_of(key.uri)
        return label.npm_package or own_package_of(label.original.source, self.rules.packages)

    def party_of(self, key: FuncKey, label: FuncLabel | None = None) -> str | None:
        """Returns what to call the party that serves a func, None where nothing is known."""
        party = party_of(key.uri, self.sites, self.rules.parties, is_mapped=label is not None)
        return party.name if party else None

    def show(self, key: FuncKey, label: FuncLabel | None = None) -> Shown | None:
        """Returns what the display rules make of a func, None where it is shown as it is."""
        if not self.display.rules:
            return None
        if (key, label) not in self._shown:
            self._shown[key, label] = self.display.decide(lambda field: self._tell(field, key, label))
        return self._shown[key, label]

    def fitting_rules(self, key: FuncKey, label: FuncLabel | None = None) -> list[int]:
        """Returns which display rules fit a func, also those that do not decide since another does before."""
        return self.display.fitting(lambda field: self._tell(field, key, label))

    def with_display(self, rules: DisplayRules) -> "Code":
        """Returns the same with other display rules. It categorizes together with this one."""
        return replace(self, display=rules, _shown={})

    def _tell(self, field: str, key: FuncKey, label: FuncLabel | None) -> str | None:
        """Returns what a func has of a field of `profcore.display_rules`."""
        match field:
            case "name":
                return label_original(label.original) if label else label_func(key.name, key.uri, key.line, key.column)
            case "source":
                return label.original.source if label else None
            case "uri":
                return key.uri
            case "package":
                return self.package_of(key, label)
            case "category":
                return self.categorize(key, label)
            case "party":  # of one's own code there is none: all of it as one row is what nobody wants
                party = self.party_of(key, label)
                return None if party == FIRST_PARTY else party
            case _:
                return origin_of(key.uri)

    def label(self, release: str | None, func_id: int) -> FuncLabel | None:
        """Returns a func's label in a release, None where there is none."""
        return self.labels.of(release, func_id) if self.labels is not None and release is not None else None


def select_code(project_id: int, *, as_stored: bool = False) -> Code:
    """Returns what is known of a project's code, but for the labels and sites, which are asked for. One statement.

    With `as_stored` there are no display rules in it.
    """
    with connection.cursor() as cursor:
        cursor.execute(VERSION, [project_id])
        row = cursor.fetchone()
    text, display, scripts, digest, origins = row or ("{}", "[]", 0, None, [])
    rules = _read_rules(text)
    version = (scripts, digest or 0, text)
    labels = Labels(project_id, _remembered(project_id, version), rules) if scripts or rules.same else None
    display = "[]" if as_stored else display
    own, shown = (*version, display), _read_display_rules(display)
    decided = {} if not shown.rules or shown.names(BY_SITE) else _decisions(project_id, own)
    return Code(project_id, origins, rules, own, labels, shown, _shown=decided)


def _decisions(project_id: int, version: tuple[int, int, str, str]) -> "dict[ShownKey, Shown | None]":
    """Returns where a process remembers what display rules make of funcs: on thousands, most of what they take."""
    known = _shown.get(project_id)
    if known is None or known[0] != version or len(known[1]) > settings.LABELS_CACHE_ROWS:
        if project_id not in _shown and len(_shown) >= settings.LABELS_CACHE_PROJECTS:
            _shown.pop(next(iter(_shown)), None)
        known = _shown[project_id] = version, {}
    return known[1]


def _remembered(project_id: int, version: tuple[int, int, str]) -> _Known:
    known = _known.get(project_id)
    if known is None or known.version != version:
        if project_id not in _known and len(_known) >= settings.LABELS_CACHE_PROJECTS:
            _known.pop(next(iter(_known)), None)
        known = _known[project_id] = _Known(version)
    return known


@lru_cache(maxsize=1_000)
def _read_rules(text: str) -> CodeRules:
    return read_code_rules(json.loads(text))


@lru_cache(maxsize=1_000)
def _read_display_rules(text: str) -> DisplayRules:
    return read_display_rules(json.loads(text))


def _select_doubtful(project_id: int) -> frozenset[tuple[str, str | None]]:
    with connection.cursor() as cursor:
        cursor.execute(DOUBTFUL, [project_id])
        return frozenset((canonical_source(path), name) for path, name in cursor)


def forget_labels() -> None:
    """Empties what is remembered, between tests."""
    _known.clear()
    _shown.clear()


@dataclass(frozen=True, slots=True)
class RowOf:
    """Which row of a table a func is summed up in; `by_pair` has those that are not of one row in all releases."""

    by_func: Mapping[int, RowId]
    by_pair: Mapping[Pair, RowId] = field(default_factory=dict)

    @classmethod
    def of_pairs(cls, rows: Mapping[Pair, RowId]) -> "RowOf":
        """Makes it from the row of each func in each release."""
        by_func: dict[int, RowId] = {}
        split: set[int] = set()
        for (_, func_id), row_id in rows.items():
            if by_func.setdefault(func_id, row_id) != row_id:
                split.add(func_id)
        return cls(
            {func_id: row_id for func_id, row_id in by_func.items() if func_id not in split},
            {pair: row_id for pair, row_id in rows.items() if pair[1] in split},
        )

    def of(self, release: str, func_id: int) -> RowId | None:
        """Returns the row of a func in a release, None where it is in none."""
        found = self.by_func.get(func_id)
        return found if found is not None else self.by_pair.get((release, func_id))
