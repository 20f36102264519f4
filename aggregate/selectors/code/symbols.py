"""A project's code: its own sites, its rules, and the labels that source maps give to its funcs.

Labels are joined when they are read; no stored sum contains them. Each process caches them by (release, func). It
does so as long as the project's uploaded scripts and their progress do not change.
"""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Final, NamedTuple, TypeVar

from django.conf import settings
from django.db import connection

from aggregate.label_models import MAPPED
from aggregate.selectors.code.labels import label_func, label_original
from aggregate.selectors.code.sites import select_sites
from aggregate.selectors.slice.read_context import once_a_read
from aggregate.selectors.slice.slices import SliceError
from profcore.caching import keep
from profcore.code.categories import CategoryKey, categorize, category_key_of
from profcore.code.code_rules import CodeRules, read_code_rules
from profcore.code.display_rules import Display, DisplayRules, read_display_rules
from profcore.code.identity import MAPPED_ID, Original, mapped_id, source_part
from profcore.code.packages import canonical_source, package_of, project_package_of
from profcore.code.parties import FIRST_PARTY
from profcore.code.sites import origin_of, party_of, sites_of
from profcore.trace.funcs import FuncKey

MAX_CACHED_CHARS: Final = 1_000  # of a func: 200,000 with names and URIs at ingest's limits would be 14 GB
LABELS_CACHE_PROJECTS: Final = 20  # whose labels are cached; others are read again
# Only a pattern made for it takes 5 ms for one func: thirty folders take 10 µs. A read gives up before its client does.
SLOW_MATCH_S: Final = 0.005
MAX_SLOW_MATCHES_S: Final = 5.0

RowId = int | str
Pair = tuple[str, int]  # a release, and a func's id
SourcePlace = tuple[int, int, int]  # a source's id, line and column of a function's definition
NO_DISPLAY_RULES: Final = DisplayRules()
BY_SITE: Final = ("category", "party")  # these depend on the project's sites, which may change by themselves

VERSION: Final = """
SELECT p.code_rules::text, p.display_rules::text, s.scripts, s.version,
       ARRAY(SELECT DISTINCT unnest(k.origins) FROM projects_ingestkey k
             WHERE k.project_id = %(project_id)s AND k.revoked_at IS NULL) AS origins
FROM projects_project p
CROSS JOIN (
    SELECT count(*) AS scripts, bit_xor(hashtextextended(concat_ws(' ', r.id, r.map_id, r.bundle_id, r.attempts,
               r.labelled_func_id, r.pending_at, r.uploaded_at), 0)) AS version
    FROM aggregate_releasescript r WHERE r.project_id = %(project_id)s) s
WHERE p.id = %(project_id)s
"""
# A release's own label comes first. If the release has no script of that URL, and the URL has a content hash, the label
# of another release is used.
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
# Names that several functions of one source have in some release, where no source text distinguishes them.
DOUBTFUL: Final = f"""
SELECT DISTINCT min(s.path), l.name
FROM aggregate_label l JOIN aggregate_source s ON s.project_id = l.project_id AND s.id = l.source_id
WHERE l.project_id = %s AND l.status = {MAPPED} AND l.name IS NOT NULL AND s.content IS NULL
GROUP BY l.release, regexp_replace(s.path, '^(.*/)?node_modules/', 'node_modules/'), l.name
HAVING count(DISTINCT (l.line, l.col)) > 1
"""


class FuncLabel(NamedTuple):
    """A func in a release: its id across releases, its original, the package of that, and its source.

    `npm_package` is the package that an installer brought in, None for the project's own code.
    """

    identity: str
    original: Original
    package: str | None
    source_id: int
    npm_package: str | None

    @property
    def place(self) -> SourcePlace:
        """Where its original is defined."""
        return self.source_id, self.original.line, self.original.column


@dataclass(slots=True)
class _LabelCache:
    """The cached labels of one project, at one version of them."""

    version: tuple[int, int, str]
    doubtful: frozenset[tuple[str, str | None]] | None = None
    labels: dict[Pair, FuncLabel | None] = field(default_factory=dict)


_label_caches: Final[dict[int, _LabelCache]] = keep({})  # by project
LabelledKey = tuple[FuncKey, FuncLabel | None]
# By project: a version, and what the display rules decided for funcs at that version.
_decision_caches: Final[dict[int, tuple[tuple[int, int, str, str], dict[LabelledKey, Display | None]]]] = keep({})


Cache = TypeVar("Cache")


class Labels:
    """The labels of a project at one moment. `load` fetches them, in one statement at most."""

    __slots__ = ("_cache", "_own", "_project_id", "_rules")

    def __init__(self, project_id: int, cache: _LabelCache, rules: CodeRules) -> None:
        self._project_id = project_id
        self._cache = cache
        self._rules = rules
        self._own: dict[Pair, FuncLabel | None] = {}  # these stay here when others empty the cache

    def load(self, pairs: Iterable[Pair]) -> None:
        """Loads the labels of some funcs, so that `of` returns them."""
        cache, wanted = self._cache, [pair for pair in dict.fromkeys(pairs) if pair not in self._own]
        cached = cache.labels
        missing = [pair for pair in wanted if pair not in cached]
        self._own |= {pair: cached.get(pair) for pair in wanted}
        if not missing:
            return
        if cache.doubtful is None:
            cache.doubtful = _select_doubtful(self._project_id)
        labels = self._select(missing)
        fresh = {pair: labels.get(pair) for pair in missing}
        self._own |= fresh
        is_full = len(cached) + len(fresh) > settings.LABELS_CACHE_ROWS
        cache.labels = fresh if is_full else cached | fresh

    def of(self, release: str, func_id: int) -> FuncLabel | None:
        """Returns a func's label in a release, None if no map has one. Call `load` for it first."""
        return self._own.get((release, func_id))

    def id_of(self, release: str, func_id: int) -> RowId:
        """Returns the id of a func in tables: one across releases if it is mapped, else its own."""
        label = self.of(release, func_id)
        identity = label.identity if label else str(func_id)
        merged = self._rules.same.get(identity, identity)
        return int(merged) if merged.isdigit() else merged

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
                source_id,
                source,
                Original(
                    source=path,
                    line=line,
                    column=column,
                    name=name,
                    body_hash=None if body is None else bytes(body),
                    standing=standing,
                ),
            )
            for release, func_id, status, source_id, source, path, line, column, name, body, standing in rows
            if status == MAPPED and path is not None
        }

    def _make(self, source_id: int, source: str, stored: Original) -> FuncLabel:
        original = stored._replace(source=canonical_source(stored.source))
        is_doubtful = (original.source, original.name) in (self._cache.doubtful or frozenset())
        npm = package_of(source) or package_of(stored.source)
        package = npm or project_package_of(original.source, self._rules.packages)
        return FuncLabel(
            identity=mapped_id(original, is_doubtful=is_doubtful),
            original=original,
            package=package,
            source_id=source_id,
            npm_package=npm,
        )

    def funcs_of(self, row_id: str) -> list[int]:
        """Returns the funcs that have an id in at least one release, in ascending order. Two statements at most.

        `id_of` says for each release whether a func has the id there.
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


@dataclass(slots=True, kw_only=True)
class Symbols:
    """A project's code. `labels` is None if there is no source map and no func stands for another.

    `version` changes with labels and rules. `origins` are those of the project's live keys. `display` has no rules if
    functions are wanted as they are stored.
    """

    project_id: int
    origins: Sequence[str]
    rules: CodeRules
    version: tuple[int, int, str, str]
    labels: Labels | None = None
    display: DisplayRules = NO_DISPLAY_RULES
    _sites: frozenset[str] | None = None
    _categories: dict[tuple[CategoryKey, str | None], str | None] = field(default_factory=dict)
    _shown: dict[LabelledKey, Display | None] = field(default_factory=dict)
    _slow_s: float = 0.0
    _by_name: bool = field(init=False)

    def __post_init__(self) -> None:
        """Notes whether a rule of the project looks at names."""
        self._by_name = any(rule.name is not None for rule in self.rules.categories)

    @property
    def sites(self) -> frozenset[str]:
        """The project's own sites. One statement if a key takes any origin and they are not cached."""
        if self._sites is None:
            self._sites = select_sites(self.project_id) if "*" in self.origins else sites_of(self.origins)
        return self._sites

    def categorize(self, key: FuncKey, label: FuncLabel | None = None) -> str | None:
        """Returns a func's category."""
        source = label.original.source if label else None
        category_key = category_key_of(key, by_name=self._by_name)
        if (category_key, source) not in self._categories:
            began_s = time.perf_counter()
            category = categorize(key, self.sites, self.rules.categories, source=source, parties=self.rules.parties)
            self._count_slow(time.perf_counter() - began_s)
            self._categories[category_key, source] = category
        return self._categories[category_key, source]

    def _count_slow(self, took_s: float) -> None:
        """Raises `SliceError` once a project's patterns have taken too long on too many names."""
        if took_s > SLOW_MATCH_S:
            self._slow_s += took_s
        if self._slow_s > MAX_SLOW_MATCHES_S:
            raise SliceError("categories", "The project's category rules take too long. Give them shorter patterns.")

    def package_of(self, key: FuncKey, label: FuncLabel | None = None) -> str | None:
        """Returns a func's package: the package of its original, else the one that its script's URI names."""
        if label is None:
            return package_of(key.uri)
        return label.npm_package or project_package_of(label.original.source, self.rules.packages)

    def party_of(self, key: FuncKey, label: FuncLabel | None = None) -> str | None:
        """Returns the name of the party that serves a func, None if it is not known."""
        party = party_of(key.uri, self.sites, self.rules.parties, is_mapped=label is not None)
        return party.name if party else None

    def third_party_of(self, key: FuncKey, label: FuncLabel | None = None) -> str | None:
        """Returns the name of the third party that serves a func, None for own code, and if it is not known."""
        party = self.party_of(key, label)
        return None if party == FIRST_PARTY else party

    def show(self, key: FuncKey, label: FuncLabel | None = None) -> Display | None:
        """Returns how the display rules show a func, None if it is shown as it is."""
        if not self.display.rules:
            return None
        if len(key.name) + len(key.uri or "") > MAX_CACHED_CHARS:
            return self.display.decide(lambda field: self._read_field(field, key, label))
        if (key, label) not in self._shown:
            self._shown[key, label] = self.display.decide(lambda field: self._read_field(field, key, label))
        return self._shown[key, label]

    def fitting_rules(self, key: FuncKey, label: FuncLabel | None = None) -> list[int]:
        """Returns the display rules that fit a func, including those that an earlier rule overrules."""
        return self.display.fitting(lambda field: self._read_field(field, key, label))

    def with_display(self, rules: DisplayRules) -> "Symbols":
        """Returns a copy with other display rules. Both share their cache of categories."""
        return replace(self, display=rules, _shown={})

    def _read_field(self, field: str, key: FuncKey, label: FuncLabel | None) -> str | None:
        """Returns a func's value of a field of `profcore.code.display_rules`."""
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
            case "party":  # None for the project's own code: all of it as one row would be of no use
                return self.third_party_of(key, label)
            case _:
                return origin_of(key.uri)

    def label(self, release: str | None, func_id: int) -> FuncLabel | None:
        """Returns a func's label in a release, None without one."""
        return self.labels.of(release, func_id) if self.labels is not None and release is not None else None


@once_a_read
def load_symbols(project_id: int, *, as_stored: bool = False) -> Symbols:
    """Returns a project's code without labels and sites, which are loaded when needed. One statement.

    With `as_stored` it has no display rules.
    """
    with connection.cursor() as cursor:
        cursor.execute(VERSION, {"project_id": project_id})
        row = cursor.fetchone()
    text, display, scripts, digest, origins = row or ("{}", "[]", 0, None, [])
    rules = _read_rules(text)
    version = (scripts, digest or 0, text)
    labels = Labels(project_id, _find_label_cache(project_id, version), rules) if scripts or rules.same else None
    display = "[]" if as_stored else display
    stored_version, display_rules = (*version, display), _read_display_rules(display)
    decided = (
        {} if not display_rules.rules or display_rules.names(BY_SITE) else _find_decisions(project_id, stored_version)
    )
    return Symbols(
        project_id=project_id,
        origins=origins,
        rules=rules,
        version=stored_version,
        labels=labels,
        display=display_rules,
        _shown=decided,
    )


def _find_decisions(project_id: int, version: tuple[int, int, str, str]) -> "dict[LabelledKey, Display | None]":
    """Returns the process's memory of how display rules show funcs. Deciding takes most of the time of thousands."""
    cache = _decision_caches.get(project_id)
    if cache is None or cache[0] != version or len(cache[1]) > settings.LABELS_CACHE_ROWS:
        cache = _decision_caches[project_id] = version, {}
    _clear_others(_decision_caches, project_id, lambda cached: len(cached[1]))
    return cache[1]


def _find_label_cache(project_id: int, version: tuple[int, int, str]) -> _LabelCache:
    cache = _label_caches.get(project_id)
    if cache is None or cache.version != version:
        cache = _label_caches[project_id] = _LabelCache(version)
    _clear_others(_label_caches, project_id, lambda cached: len(cached.labels))
    return cache


def _clear_others(caches: dict[int, Cache], project_id: int, count_rows: Callable[[Cache], int]) -> None:
    """Removes other projects from the cache, the oldest first, until all together are within the bounds."""
    rows = {project: count_rows(cache) for project, cache in list(caches.items())}
    for project in list(rows):
        if len(rows) <= LABELS_CACHE_PROJECTS and sum(rows.values()) <= settings.LABELS_CACHE_ROWS:
            return
        if project != project_id:
            caches.pop(project, None)
            del rows[project]


@lru_cache(maxsize=LABELS_CACHE_PROJECTS)  # compiled patterns take up to 38 MB
def _read_rules(text: str) -> CodeRules:
    return read_code_rules(json.loads(text))


@lru_cache(maxsize=1_000)
def _read_display_rules(text: str) -> DisplayRules:
    return read_display_rules(json.loads(text))


def _select_doubtful(project_id: int) -> frozenset[tuple[str, str | None]]:
    with connection.cursor() as cursor:
        cursor.execute(DOUBTFUL, [project_id])
        return frozenset((canonical_source(path), name) for path, name in cursor)
