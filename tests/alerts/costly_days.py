"""Days of page views in which functions of scripts take given parts of the time, and what alerts tell about them."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Final

import numpy as np

from aggregate.models import PageView
from alerts.evaluating import evaluate_one
from alerts.models import AlertRule, StateChange
from alerts.new_third_parties.previews import preview_new_third_parties
from alerts.queries import read_alert_query
from profcore.alerts.states import State
from profcore.stats.sampling import sample_key
from profcore.sums.blobs import Contribution, encode_contribution
from profcore.times import start_of_day, start_of_hour
from projects.models import Project
from tests.builders import make_func, make_hotspot, make_timed_views

TODAY: Final = datetime(2026, 11, 20, 9, tzinfo=UTC)
TIMES: Final = [90_000, 100_000, 110_000, 120_000] * 15
APP, TAG = "https://shop.example/app.js", "https://tags.example/tag.js"
ConfirmedDays = list[tuple[date, str]]


def add_functions(
    project: Project,
    days_ago: int,
    parts: Mapping[str, float],
    *,
    today: datetime = TODAY,
    views: int = 60,
    ran_by: Mapping[str, int] | None = None,
) -> None:
    """Views of a day, of whose time some functions of packages or other origins have these parts.

    `ran_by` says how many views run some of them: those that come last in a sample. Others run in all views.
    """
    cell = make_timed_views(project, TIMES[:views], starts_at=start_of_hour(today - timedelta(days=days_ago)))
    funcs = {name: make_func(project, name.rpartition("/")[2], uri=name) for name in parts}
    rng = np.random.default_rng(days_ago + 9)
    rows = list(PageView.objects.filter(project=project, cell_id=cell.id).order_by("view_id"))
    last = sorted(rows, key=lambda view: sample_key(view.view_id), reverse=True)
    rank = {view.view_id: number for number, view in enumerate(last)}
    ran, sums = dict.fromkeys(parts, 0), dict.fromkeys(parts, 0)
    for view in rows:
        by_name = {
            name: round(view.js_us * part * rng.uniform(0.8, 1.2))
            for name, part in parts.items()
            if rank[view.view_id] < (ran_by or {}).get(name, views)
        }
        costs = sorted((funcs[name].id, us) for name, us in by_name.items())
        ids, times, zeros = [func for func, _ in costs], [us for _, us in costs], [0] * len(costs)
        ones = [1] * len(costs)
        view.contribution = encode_contribution(
            Contribution(ids, times, times, zeros, ones, ones, hidden_total_us=zeros, uncertain_us=zeros)
        )
        view.save(update_fields=["contribution"])
        for name, us in by_name.items():
            ran[name], sums[name] = ran[name] + 1, sums[name] + us
    for name, us in sums.items():
        make_hotspot(cell, funcs[name], self_us=us, total_us=us, views=ran[name])


def follow_alert(alert: AlertRule, days_ago: int) -> ConfirmedDays:
    """Evaluates an alert each morning since so many days, and returns what it confirmed, with the day."""
    for number in range(days_ago, -1, -1):
        now = start_of_day(TODAY - timedelta(days=number)) + timedelta(hours=4)
        AlertRule.objects.filter(project_id=alert.project_id, id=alert.id).update(due_at=now)
        assert evaluate_one(alert.project_id, alert.id, now)
        assert AlertRule.objects.get(project_id=alert.project_id, id=alert.id).problem is None
    confirmed = StateChange.objects.filter(alert_id=alert.id, state=State.CONFIRMED).order_by("id")
    return sorted(((change.at - timedelta(days=1)).date(), change.subject) for change in confirmed)


def preview_alert(alert: AlertRule) -> ConfirmedDays:
    """Returns what the preview of an alert says that it would have confirmed, likewise."""
    parties = preview_new_third_parties(alert.project_id, read_alert_query(alert), TODAY).reported
    return sorted((on, party.name) for party in parties for on in party.reported_on)
