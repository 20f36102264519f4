"""Recorded visits of the shop, posted and folded: their windows are those of real pages."""

import gzip
import json
from collections.abc import Iterable
from typing import Any
from uuid import uuid5

from ops.demo.recordings import FOLDER
from tests.aggregate.posting import fold_all, post
from tests.envelopes import NAMESPACE, YESTERDAY

Json = dict[str, Any]  # Any: JSON


def read_visits(release: str, count: int) -> list[list[Json]]:
    """Returns the envelopes of some recorded visits of a release, from all of its pages, moved to yesterday."""
    views: dict[str, list[Json]] = {}
    for line in gzip.decompress((FOLDER / f"{release}.ndjson.gz").read_bytes()).splitlines():
        envelope = json.loads(line)
        views.setdefault(envelope["viewId"], []).append(envelope)
    step = len(views) // count
    return [_move(view) for view in list(views.values())[::step][:count]]


def _move(view: list[Json]) -> list[Json]:
    shift = YESTERDAY.timestamp() * 1000 - view[0]["viewStart"]
    return [
        {**envelope, "timeOrigin": envelope["timeOrigin"] + shift, "viewStart": envelope["viewStart"] + shift}
        for envelope in view
    ]


def copy_visits(visits: Iterable[list[Json]], times: int) -> list[list[Json]]:
    """Returns each visit so often, as views of their own."""
    return [
        [{**envelope, "viewId": str(uuid5(NAMESPACE, f"{envelope['viewId']} {number}"))} for envelope in visit]
        for visit in visits
        for number in range(times)
    ]


def post_visits(key: str, visits: Iterable[list[Json]]) -> None:
    """Posts visits, last traces first, and folds them."""
    for visit in visits:
        post(key, *visit[::-1])
    fold_all()
