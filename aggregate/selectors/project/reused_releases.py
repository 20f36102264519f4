"""A release name that was used for two builds: the scripts of its page views show it."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from django.db import connection

from aggregate.selectors.page_views.samples import select_sampled
from aggregate.selectors.slice.slices import Slice
from ingest.storage.groups import OTHER
from profcore.code.generations import MIN_VIEWS, ScriptsOfView, find_generations
from profcore.sums.blobs import decode_contributions

# A page with a tenth of the views then has 25 in each of two builds.
SAMPLED_VIEWS: Final = 500


@dataclass(frozen=True, slots=True)
class ReusedRelease:
    """A release with two builds, a page that shows it, and the file names of a script in the earlier and the later."""

    release: str
    page: str
    earlier: str
    later: str


def select_reused_release(slice_: Slice, population: int) -> ReusedRelease | None:
    """Returns a release of the slice that two builds have, by a uniform sample of views; None if none is seen.

    `population` counts the slice's views. Two statements, or a few more if rows of views have expired.
    """
    columns = "v.contribution, EXTRACT(EPOCH FROM c.starts_at)::float8, c.release, c.page"
    _, rows = select_sampled(slice_, columns, most=SAMPLED_VIEWS, population=population)
    if not rows:
        return None
    scripts = _read_scripts(slice_.project_id, [row[0] for row in rows])
    views: dict[tuple[str, str], list[ScriptsOfView]] = defaultdict(list)
    for (_, at, release, page, *_), uris in zip(rows, scripts, strict=True):
        views[release, page].append(ScriptsOfView(at, uris))
    pairs = [
        (pair.views, ReusedRelease(release, page, _file_name(pair.earlier), _file_name(pair.later)))
        for (release, page), of_page in views.items()
        if OTHER not in (release, page) and (pair := find_generations(of_page)) is not None
    ]
    return max(pairs, key=lambda pair: (pair[0], pair[1].release, pair[1].page), default=(0, None))[1]


def _read_scripts(project_id: int, contributions: Sequence[bytes]) -> list[list[str]]:
    """Returns the URIs of the scripts that each view ran, by those functions that enough views ran."""
    lengths, (funcs, *_) = decode_contributions(contributions, column_count=1)
    ids, counts = np.unique(funcs, return_counts=True)
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT f.id, f.uri FROM aggregate_func f
               WHERE f.project_id = %s AND f.id = ANY(%s) AND f.uri IS NOT NULL ORDER BY f.id""",
            [project_id, ids[counts >= MIN_VIEWS].tolist()],
        )
        rows = cursor.fetchall()
    known, uris = np.array([func_id for func_id, _ in rows], dtype=np.int64), sorted({uri for _, uri in rows})
    number_of = {uri: number for number, uri in enumerate(uris)}
    numbers = np.array([number_of[uri] for _, uri in rows], dtype=np.int64)
    is_known = np.isin(funcs, known)
    view = np.repeat(np.arange(lengths.size), lengths)[is_known]
    pairs = np.unique(view * len(uris) + numbers[np.searchsorted(known, funcs[is_known])])
    scripts: list[list[str]] = [[] for _ in contributions]
    for pair in pairs.tolist():
        place, number = divmod(pair, len(uris))
        scripts[place].append(uris[number])
    return scripts


def _file_name(uri: str) -> str:
    return uri.rpartition("/")[2]
