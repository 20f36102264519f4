"""Uniform samples of views' own times, without their contributions: many strata of a slice in one statement."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from aggregate.selectors.slice.binary import open_binary
from aggregate.selectors.slice.slices import FROM_CELLS, Slice, where_slice
from profcore.stats.sampling import LAST_KEY
from profcore.stats.strata import text_code
from profcore.stats.views import FloatColumn, IntColumn, ViewColumns
from profcore.trace.dimensions import Dimension

# Each cell is read by the index of its views. Without this, the planner reads and hashes every view of a project of
# 100,000 (0.12 s), of which a tenth is needed (0.02 s; 2026-11-21). Of cells that would have less than one view in the
# sample, only some are read, chosen by a hash of their id: one and a half times as many as views are wanted.
ASKED_CELLS: Final = 1.5


def _write_sampled(of: str, where: str) -> str:
    """Returns the statement for the sampled views of strata; `of` joins cells `c` with their stratum `s`."""
    return f"""
WITH s (number, release, page, at, code, share) AS (
    SELECT * FROM unnest(%(numbers)s::int[], %(of_release)s::text[], %(of_page)s::text[], %(of_at)s::timestamptz[],
                         %(of_code)s::int[], %(shares)s::float8[])),
c AS MATERIALIZED (
    SELECT c.id, c.device_class, c.navigation, g.page, s.number, s.share,
           least(1.0, {ASKED_CELLS} * c.views * s.share) AS chance
    {FROM_CELLS} JOIN s ON {of} WHERE {where} AND c.views > 0),
asked AS MATERIALIZED (
    SELECT c.id, c.device_class, c.navigation, c.page, c.number,
           CASE WHEN c.share >= c.chance THEN {LAST_KEY} ELSE (c.share / c.chance * {LAST_KEY})::bigint END AS below
    FROM c WHERE c.chance >= 1 OR (hashint4extended(c.id, 0) & {LAST_KEY}) < c.chance * {LAST_KEY})
SELECT c.number, v.js_us, v.hidden_us, c.device_class, c.navigation, v.sample_rate, c.page
FROM asked c CROSS JOIN LATERAL (
    SELECT v.js_us, v.hidden_us, coalesce(v.sample_rate, 1.0) AS sample_rate FROM aggregate_pageview v
    WHERE v.project_id = %(project_id)s AND v.cell_id = c.id AND fieldflame_sample_key(v.view_id) <= c.below
    OFFSET 0) AS v
"""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewTimes:
    """The views looked at: the index of each one's stratum, and its own times."""

    stratum: IntColumn
    js_us: IntColumn
    hidden_us: IntColumn
    device_class: IntColumn
    navigation: IntColumn
    sample_rate: FloatColumn
    page: IntColumn

    def facts(self, stratum: int) -> ViewColumns:
        """Returns what statistics need of one stratum's views."""
        is_in = self.stratum == stratum
        return ViewColumns(
            js_us=self.js_us[is_in],
            hidden_us=self.hidden_us[is_in],
            device_class=self.device_class[is_in],
            navigation=self.navigation[is_in],
            sample_rate=self.sample_rate[is_in],
            page=self.page[is_in],
            tag=np.zeros_like(self.page[is_in]),
        )


def select_view_times(
    slice_: Slice,
    strata: Sequence[Stratum],
    *,
    most: int,
    bucket: str | None = None,
    dimension: Dimension | None = None,
) -> ViewTimes:
    """Returns a uniform sample of about `most` views of each stratum. One statement.

    Either all strata name a release, or none does. The same holds for pages, for codes, which are of a `dimension`, and
    for times, which are starts of a `bucket` (hour, day or week of UTC). Each view of a stratum has the same chance to
    be in its sample, so the size varies. A stratum of at most `most` views is complete.
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
        "shares": [1.0 if stratum.views <= most else most / stratum.views for stratum in strata],
    }
    with open_binary() as cursor:
        cursor.execute(_write_sampled(" AND ".join(of) or "true", where), params)
        rows = cursor.fetchall()
    columns = list(zip(*rows, strict=True)) if rows else [()] * 7
    stratum, js_us, hidden_us, device, navigation = (np.array(column, dtype=np.int64) for column in columns[:5])
    return ViewTimes(
        stratum=stratum,
        js_us=js_us,
        hidden_us=hidden_us,
        device_class=device,
        navigation=navigation,
        sample_rate=np.array(columns[5], dtype=np.float64),
        page=np.array([text_code(page) for page in columns[6]], dtype=np.int64),
    )
