"""Stacks of hangs with calls in one script, and writing where these calls are in the original sources."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import connection

from aggregate.sql import select_rows

MAX_STACKS: Final = 1_000  # of a script, the newest: some weeks of a site whose pages hang often
MAX_CALLS: Final = 5_000  # of them together, so that one map's child has work of seconds

CallPlace = tuple[int, int]  # line and column from 1
Original = tuple[str, int, int, str | None]  # `profcore.symbolicate.calls.OriginalPlace`


@dataclass(frozen=True, slots=True)
class HungStacks:
    """Rows of hangs with frames in the script `uri`: their keys, frames and originals."""

    uri: str
    rows: Sequence[tuple[Any, ...]]  # Any: as the driver types them

    @property
    def calls(self) -> list[CallPlace]:
        """The different positions of calls in the script, in order."""
        places = {place for *_, frames, _ in self.rows for place in map(self._place_of, frames) if place is not None}
        return sorted(places)[:MAX_CALLS]

    def write(self, project_id: int, originals: Sequence[Original | None]) -> None:
        """Writes the originals of `calls`. One statement; none without rows."""
        if not self.rows:
            return
        found = dict(zip(self.calls, originals, strict=True))
        texts = []
        for *_, frames, known in self.rows:
            places = [self._place_of(frame) for frame in frames]
            texts.append(json.dumps([old if p is None else found.get(p) for p, old in zip(places, known, strict=True)]))
        days, releases, pages, reasons, signatures, *_ = zip(*self.rows, strict=True)
        with connection.cursor() as cursor:
            cursor.execute(
                """UPDATE ingest_hangcount h SET originals = w.originals::jsonb
                   FROM unnest(%s::date[], %s::text[], %s::text[], %s::smallint[], %s::uuid[], %s::text[])
                        AS w (day_on, release, page, reason, signature, originals)
                   WHERE h.project_id = %s AND h.day_on = w.day_on AND h.release = w.release AND h.page = w.page
                     AND h.reason = w.reason AND h.signature = w.signature""",
                [list(days), list(releases), list(pages), list(reasons), list(signatures), texts, project_id],
            )

    def _place_of(self, frame: Sequence[Any]) -> CallPlace | None:  # Any: JSON
        _, uri, line, column, _ = frame
        return (line, column) if uri == self.uri and line is not None else None


def load_stacks(project_id: int, release: str, uri: str, *, is_shared: bool) -> HungStacks:
    """Returns the newest stacks of a release with calls in a script; of all releases if its URL has a content hash."""
    rows = select_rows(
        """SELECT h.day_on, h.release, h.page, h.reason, h.signature, h.frames, h.originals FROM ingest_hangcount h
           WHERE h.project_id = %s AND (h.release = %s OR %s) AND h.originals IS NOT NULL
             AND EXISTS (SELECT FROM jsonb_array_elements(h.frames) AS f WHERE f.value ->> 1 = %s)
           ORDER BY h.day_on DESC, h.release, h.page, h.reason, h.signature LIMIT %s""",
        [project_id, release, is_shared, uri, MAX_STACKS],
    )
    return HungStacks(uri, [(*key, json.loads(frames), json.loads(known)) for *key, frames, known in rows])
