"""How many functions of a release an upload reaches, and where the release's traces came from instead."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.db import OperationalError, connection

from aggregate.label_models import MAPPED, ReleaseScript
from aggregate.sourcemaps.wildcards import is_among
from ingest.deadline import drop_silent_connection, with_deadline
from profcore.symbolicate.paths import ANYWHERE, script_uri
from profcore.trace.addresses import escape_path, wildcard_forms

MAX_SEEN_SCRIPTS: Final = 2_000  # of a release, those with most functions: more are inline scripts of many pages
MAX_FOLDERS: Final = 3  # shown
# The count reads each day of the release. An upload is stored by then, and proxies give up an answer after a minute.
COVERAGE_WAIT_S: Final = 5.0

# The roll-up has the functions of past hours, the cells those of the others.
SEEN_FUNCS: Final = """
SELECT h.func_id FROM ingest_group g
JOIN aggregate_dayhotspot h ON h.project_id = g.project_id AND h.group_id = g.id
WHERE g.project_id = %(project)s AND g.release = %(release)s
UNION
SELECT unnest(h.func_ids) FROM ingest_group g
JOIN aggregate_cell c ON c.project_id = g.project_id AND c.group_id = g.id AND NOT c.is_rolled AND c.merged_into IS NULL
JOIN aggregate_hotspotpiece h ON h.project_id = c.project_id AND h.cell_id = c.id
WHERE g.project_id = %(project)s AND g.release = %(release)s"""


@dataclass(frozen=True, slots=True)
class SeenScript:
    """A script that a release's traces named: its functions, and how many of them have a label."""

    uri: str
    functions: int
    named: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """What the scripts of a release reach.

    `functions` are the recorded functions of the release below the scripts' addresses, `matched` those in scripts with
    a map, and `named` those with a label already. `all_functions` are those of any address. `folders` are the addresses
    with most functions. `suggested` is one where the files would match more functions, None if there is none.
    """

    release: str
    prefixes: tuple[str, ...]
    all_functions: int
    functions: int
    matched: int
    named: int
    folders: tuple[str, ...]
    suggested: str | None

    @property
    def sentence(self) -> str:
        """The result in words."""
        if not self.all_functions:
            return f"No trace of release {self.release} was received yet. Names appear with the first one."
        if not self.matched and self.prefixes == (ANYWHERE,):
            return f"No trace of release {self.release} has named a debug id of these files yet."
        if not self.matched:
            came_from = ", ".join(self.folders)
            return (
                f"No trace of release {self.release} came from a script at {', '.join(self.prefixes)} yet. "
                f"Its traces came from {came_from}."
            )
        counted = f"{self.matched} of {self.functions} functions of release {self.release}"
        if self.named < self.matched:
            return f"{counted} are in these files. A worker is naming them now."
        return f"{counted} now have source names."


def select_coverage(project_id: int, release: str, prefixes: Sequence[str] = ()) -> Coverage:
    """Returns what the uploaded scripts of a release reach; below `prefixes`, or below the addresses that they have.

    Two statements.
    """
    scripts = list(
        ReleaseScript.objects.filter(project_id=project_id, release=release).values_list("uri", "file", "map_id")
    )
    folders = [script_uri(prefix, "") for prefix in prefixes]
    below = tuple(dict.fromkeys(folders or [prefix for uri, file, _ in scripts if (prefix := prefix_of(uri, file))]))
    mapped = {uri for uri, _, map_id in scripts if map_id is not None and uri.startswith(below)}
    seen = select_seen_scripts(project_id, release)
    in_maps = [script for script in seen if is_among(script.uri, mapped)]
    matched = sum(script.functions for script in in_maps)
    suggested = _suggest(seen, {file for _, file, map_id in scripts if map_id is not None})
    return Coverage(
        release=release,
        prefixes=below,
        all_functions=sum(script.functions for script in seen),
        functions=sum(script.functions for script in seen if _is_below(script.uri, below)),
        matched=matched,
        named=sum(script.named for script in in_maps),
        folders=tuple(_count_folders(seen)),
        suggested=suggested if suggested not in below and not matched else None,
    )


def select_coverage_in_time(project_id: int, release: str, prefixes: Sequence[str] = ()) -> Coverage | None:
    """Returns what `select_coverage` does, None if the database takes too long for it."""
    try:
        with with_deadline(COVERAGE_WAIT_S, cancels=True):
            return select_coverage(project_id, release, prefixes)
    except OperationalError as error:
        if not drop_silent_connection(error):
            raise
        return None


def select_seen_scripts(project_id: int, release: str) -> list[SeenScript]:
    """Returns the scripts that a release's traces named, those with most functions first. One statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"""WITH seen AS ({SEEN_FUNCS})
                SELECT f.uri, count(*), count(l.func_id) FROM seen
                JOIN aggregate_func f ON f.project_id = %(project)s AND f.id = seen.func_id
                LEFT JOIN aggregate_label l ON l.project_id = f.project_id AND l.func_id = f.id
                    AND l.release = %(release)s AND l.status = {MAPPED}
                WHERE f.uri IS NOT NULL AND f.line IS NOT NULL AND f.col IS NOT NULL
                GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT %(limit)s""",
            {"project": project_id, "release": release, "limit": MAX_SEEN_SCRIPTS},
        )
        return [SeenScript(*row) for row in cursor]


def prefix_of(uri: str, file: str) -> str | None:
    """Returns the address below which a file has a URL, None if it has another name there."""
    end = "/" + escape_path(file)
    return uri[: -len(end)] + "/" if uri.endswith(end) else None


def _is_below(uri: str, prefixes: tuple[str, ...]) -> bool:
    return uri.startswith(prefixes) or any(form.startswith(prefixes) for form in wildcard_forms(uri))


def _suggest(seen: Sequence[SeenScript], files: set[str]) -> str | None:
    """Returns the address where the files match most functions."""
    by_name: dict[str, list[str]] = {}
    for file in files:
        by_name.setdefault(escape_path(file).rpartition("/")[2], []).append(file)
    counts: Counter[str] = Counter()
    for script in seen:
        for file in by_name.get(script.uri.rpartition("/")[2], ()):
            if prefix := prefix_of(script.uri, file):
                counts[prefix] += script.functions
    return max(counts, key=lambda prefix: (counts[prefix], prefix)) if counts else None


def _count_folders(seen: Sequence[SeenScript]) -> list[str]:
    counts: Counter[str] = Counter()
    for script in seen:
        counts[script.uri.rpartition("/")[0] + "/"] += script.functions
    return [folder for folder, _ in counts.most_common(MAX_FOLDERS)]
