"""Uniform samples of views' own times, without their contributions: many strata of a slice in one statement."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

import numpy as np
from django.conf import settings

from aggregate.selectors.page_views.decoded import COLUMNS
from aggregate.selectors.slice.binary import open_binary
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from profcore.kernel import find_kernel
from profcore.stats.joining import pick_columns
from profcore.stats.sampling import LAST_KEY
from profcore.stats.strata import DEVICE_CODE, HOUR, START_CODE, text_code
from profcore.stats.views import IntColumn, ViewColumns, ViewSample, sample_of_columns
from profcore.sums.blobs import decode_first
from profcore.trace.dimensions import Dimension

# Each cell is read by the index of its views. Without this, the planner reads and hashes every view of a project of
# 100,000 (0.12 s), of which a tenth is needed (0.02 s; 2026-11-21). Of cells that would have less than one view in the
# sample, only some are read, chosen by a hash of their id: one and a half times as many as views are wanted.
ASKED_CELLS: Final = 1.5


def _write_sampled(of: str, where: str, *, with_functions: bool) -> str:
    """Returns the statement for the sampled views of strata; `of` joins cells `c` with their stratum `s`."""
    inner, columns, order = (KEYED, CONTRIBUTIONS, BY_CHANCE) if with_functions else ("", "", "")
    return f"""
WITH s (number, release, page, at, code, share) AS (
    SELECT * FROM unnest(%(numbers)s::int[], %(of_release)s::text[], %(of_page)s::text[], %(of_at)s::timestamptz[],
                         %(of_code)s::int[], %(shares)s::float8[])),
c AS MATERIALIZED (
    SELECT c.id, {DEVICE_CODE} AS device, {START_CODE} AS start, g.page, g.release, s.number, s.share,
           {HOUR} AS hour,
           least(1.0, {ASKED_CELLS} * c.views * s.share) AS chance
    {FROM_CELLS} JOIN s ON {of} WHERE {where} AND c.views > 0),
asked AS MATERIALIZED (
    SELECT c.id, c.device, c.start, c.page, c.release, c.hour, c.number,
           CASE WHEN c.share >= c.chance THEN {LAST_KEY} ELSE (c.share / c.chance * {LAST_KEY})::bigint END AS below
    FROM c WHERE c.chance >= 1 OR (hashint4extended(c.id, 0) & {LAST_KEY}) < c.chance * {LAST_KEY})
SELECT c.number, c.page, v.js_us, v.hidden_us, c.device, c.start, c.hour, v.traits, v.session,
       v.sample_rate{columns}
FROM asked c CROSS JOIN LATERAL (
    SELECT v.js_us, v.hidden_us, v.traits, coalesce(v.session, 0) AS session,
           coalesce(v.sample_rate, 1.0) AS sample_rate{inner} FROM aggregate_pageview v
    WHERE v.project_id = %(project_id)s AND v.cell_id = c.id AND fieldflame_sample_key(v.view_id) <= c.below
    OFFSET 0) AS v
{order}"""


# What a view's functions cost, and its release. Of each stratum the first contributions, in an order of chance, up to a
# number of bytes. Views come in that order.
KEYED: Final = """,
    v.view_id, v.contribution, hashint8extended(fieldflame_sample_key(v.view_id), 1) AS chance"""
CONTRIBUTIONS: Final = """,
    c.release,
    CASE WHEN sum(octet_length(v.contribution)) OVER (PARTITION BY c.number ORDER BY v.chance, v.view_id)
              <= %(most_bytes)s THEN v.contribution END"""
BY_CHANCE: Final = "ORDER BY c.number, v.chance, v.view_id"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stratum:
    """A part of a slice by release, page, bucket of time of its views' starts, a dimension's code, or a combination.

    None means all.
    """

    views: int
    release: str | None = None
    page: str | None = None
    at: datetime | None = None
    code: int | None = None


@dataclass(frozen=True, kw_only=True)
class ViewTimes:
    """The views looked at: the index of each one's stratum, and its own times.

    `contributions` has what the functions of each view cost, encoded; None of those beyond the bytes that are read, ()
    if nobody asked.
    """

    stratum: IntColumn
    columns: ViewColumns
    contributions: Sequence[bytes | None] = ()

    def facts(self, stratum: int) -> ViewColumns:
        """Returns what statistics need of one stratum's views."""
        first, last = np.searchsorted(self.stratum, [stratum, stratum + 1], sorter=self._order)
        return pick_columns(self.columns, self._order[first:last])

    @cached_property
    def _order(self) -> IntColumn:
        """The numbers of all views, stratum by stratum."""
        return np.argsort(self.stratum, kind="stable")

    def functions(self, most: int) -> tuple[IntColumn, ViewSample]:
        """Returns the views whose contributions were read: the stratum of each, and what their functions cost.

        The views of each stratum have at most its part of `most` functions together. Bytes do not bound them: 36,000
        may be packed in 200 bytes. Raises `BlobError`.
        """
        kernel = find_kernel(settings.KERNEL).module
        share = most // (int(self.stratum.max()) + 1) if self.stratum.size else 0
        there = np.flatnonzero([blob is not None for blob in self.contributions])
        blobs, parts = [blob for blob in self.contributions if blob is not None], self.stratum[there].tolist()
        is_decoded, lengths, columns = decode_first(blobs, parts, share, column_count=COLUMNS, kernel=kernel)
        is_read = np.zeros(self.stratum.size, dtype=bool)
        is_read[there[is_decoded]] = True
        return self.stratum[is_read], sample_of_columns(lengths, columns, pick_columns(self.columns, is_read))


def select_view_times(
    slice_: Slice,
    strata: Sequence[Stratum],
    *,
    most: int,
    bucket: str | None = None,
    dimension: Dimension | None = None,
    function_bytes: int | None = None,
) -> ViewTimes:
    """Returns a uniform sample of about `most` views of each stratum. One statement.

    Either all strata name a release, or none does. The same holds for pages, for codes, which are of a `dimension`, and
    for times, which are starts of a `bucket` (hour, day or week of UTC). Each view of a stratum has the same chance to
    be in its sample, so the size varies. A stratum of at most `most` views is complete. With `function_bytes`, what
    functions cost is read too, of as many views of each stratum as have so many bytes together.
    """
    where, params = where_slice(slice_)
    starts = "date_trunc(%(bucket)s, c.starts_at, 'UTC')"
    keys = {
        "release": "g.release",
        "page": "g.page",
        "at": starts,
        "code": f"c.{dimension.column}" if dimension else "",
    }
    of = [
        f"s.{name} = {key}"
        for name, key in keys.items()
        if any(getattr(stratum, name) is not None for stratum in strata)
    ]
    params |= {
        "bucket": bucket,
        "numbers": list(range(len(strata))),
        "of_release": [stratum.release for stratum in strata],
        "of_page": [stratum.page for stratum in strata],
        "of_at": [stratum.at for stratum in strata],
        "of_code": [stratum.code for stratum in strata],
        "most_bytes": function_bytes,
        "shares": [1.0 if stratum.views <= most else most / stratum.views for stratum in strata],
    }
    is_with_functions = function_bytes is not None
    with open_binary() as cursor:
        cursor.execute(_write_sampled(" AND ".join(of) or "true", where, with_functions=is_with_functions), params)
        rows = cursor.fetchall()
    stratum, page, js_us, hidden_us, device, start, hour, traits, session, rate, *functions = (
        zip(*rows, strict=True) if rows else [()] * (12 if is_with_functions else 10)
    )
    release, contributions = functions or ((), ())
    code_of = {name: text_code(name) for name in set(page)}
    view_columns = ViewColumns.of(
        js_us,
        hidden_us,
        device,
        rate,
        release,
        start=start,
        page=[code_of[name] for name in page],
        hour=hour,
        traits=traits,
        session=session,
    )
    return ViewTimes(
        stratum=np.array(stratum, dtype=np.int64),
        columns=view_columns,
        contributions=contributions,
    )
