"""What the header costs a project's pages, by what they told of their loads."""

from collections import defaultdict

from aggregate.selectors.slice.days import where_utc_days, widen_to_days
from aggregate.selectors.slice.slices import Slice
from aggregate.sql import select_rows
from profcore.stats.header_cost import VitalCost, compare_loads
from profcore.vitals.page_loads import LOAD_VITALS


def select_header_costs(slice_: Slice) -> list[VitalCost]:
    """Returns the cost by each vital that loads of a slice's days have; none without loads. One statement.

    Loads are counted by UTC day only, so a slice's pages, releases and dimensions do not choose among them.
    """
    where, params = where_utc_days(widen_to_days(slice_.ranges), "c.day_on")
    rows = select_rows(
        f"""SELECT c.vital, c.has_header, c.bucket, sum(c.loads)::bigint FROM ingest_loadcount c
            WHERE c.project_id = %(project_id)s AND {where} GROUP BY 1, 2, 3""",
        {"project_id": slice_.project_id, **params},
    )
    counts: dict[tuple[int, bool], dict[int, int]] = defaultdict(dict)
    for vital, has_header, bucket, loads in rows:
        counts[vital, has_header][bucket] = loads
    codes = sorted({vital for vital, _ in counts})
    return [compare_loads(LOAD_VITALS[code], counts[code, True], counts[code, False]) for code in codes]
