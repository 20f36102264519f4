"""Days of page views in which functions of scripts take given parts of the time."""

from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from aggregate.models import View
from ingest.models import Project
from profcore.sums.blobs import Contribution, encode_contribution
from profcore.times import start_of_hour
from tests.builders import make_func, make_hotspot, make_timed_views

TODAY: Final = datetime(2026, 11, 20, 9, tzinfo=UTC)
TIMES: Final = [90_000, 100_000, 110_000, 120_000] * 15
APP, TAG = "https://shop.example/app.js", "https://tags.example/tag.js"


def add_functions(project: Project, days_ago: int, parts: dict[str, float], *, today: datetime = TODAY) -> None:
    """60 views of a day, of whose time some functions of packages or other origins have these parts."""
    cell = make_timed_views(project, TIMES, bucket_at=start_of_hour(today - timedelta(days=days_ago)))
    funcs = {name: make_func(project, name.rpartition("/")[2], uri=name) for name in parts}
    rng = np.random.default_rng(days_ago + 9)
    views = list(View.objects.filter(project=project, cell_id=cell.id).order_by("view_id"))
    sums = dict.fromkeys(parts, 0)
    for view in views:
        own = {name: round(view.js_us * part * rng.uniform(0.8, 1.2)) for name, part in parts.items()}
        found = sorted((funcs[name].id, us) for name, us in own.items())
        ids, times, zeros = [func for func, _ in found], [us for _, us in found], [0] * len(found)
        ones = [1] * len(found)
        view.contribution = encode_contribution(
            Contribution(ids, times, times, zeros, ones, ones, hidden_total_us=zeros, uncertain_us=zeros)
        )
        view.save(update_fields=["contribution"])
        sums = {name: sums[name] + us for name, us in own.items()}
    for name, us in sums.items():
        make_hotspot(cell, funcs[name], self_us=us, total_us=us, views=len(views))
