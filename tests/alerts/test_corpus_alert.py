"""The release alert on the recorded apps: each injected regression is confirmed, and every control page stays quiet."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.utils import timezone

from aggregate.models import Cell, PageView
from alerts.evaluating import evaluate_due
from alerts.models import AlertRule, AlertState, StateChange
from alerts.rules import RELEASE_ALERT_ID
from ingest.models import Group
from profcore.alerts.states import State
from profcore.sums.blobs import Contribution, decode_contribution_list, encode_contribution
from profcore.trace.dimensions import DEVICE_CLASSES
from projects.models import Project
from tests.acceptance.comparing import regressions
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project, make_timed_views
from tests.corpus import corpus_envelopes

pytestmark = [pytest.mark.django_db, pytest.mark.slow(40)]


HOURS = 6


def fill(app: str) -> Project:
    """The recorded traces of one app, the releases one after another."""
    project = make_project(app)
    envelopes = [envelope for name, envelope in corpus_envelopes() if name == app]
    for release in ("1.0.0", "1.1.0"):
        of_release = [envelope for envelope in envelopes if envelope["release"] == release]
        for start in range(0, len(of_release), 50):
            post(f"KEY-{app}", *of_release[start : start + 50])
        fold_all()
    days = {"1.0.0": 9, "1.1.0": 1}
    for release, age in days.items():
        first_seen_at = timezone.now() - timedelta(days=age)
        Group.objects.filter(project=project, release=release).update(first_seen_at=first_seen_at)
    return project


def states_of(project: Project) -> dict[str | None, State]:
    """Evaluates, and returns the worst state of the new release by page: of the page or of a function."""
    AlertRule.objects.filter(project=project).update(due_at=timezone.now())
    evaluate_due(timezone.now())
    rows = AlertState.objects.filter(project=project, alert_id=RELEASE_ALERT_ID, release="1.1.0")
    found: dict[str | None, State] = {}
    for row in rows:
        found[row.page] = max(State(row.state), found.get(row.page, State.UNKNOWN))
    return found


def replay(project: Project, times: int) -> None:
    """More views like the recorded ones: each is drawn from those of its page, release and device class.

    It takes as long as that one, and so do its functions, times a lognormal factor with mean 1, as in the simulations
    (`benchmarks.statistics`). They come within some hours.
    """
    rng = np.random.default_rng(7)
    groups = {group.id: group for group in Group.objects.filter(project=project)}
    recorded = defaultdict(list)
    cells = {cell.id: cell for cell in Cell.objects.filter(project=project)}
    for view in PageView.objects.filter(project=project).order_by("view_id"):
        group = groups[view.group_id]
        kind = (group.release, group.page, DEVICE_CLASSES[cells[view.cell_id].device_class])
        recorded[kind].append((view.js_us + view.hidden_us, decode_contribution_list([bytes(view.contribution)])[0]))
    starts_at = max(cell.starts_at for cell in cells.values()) + timedelta(hours=1)
    for (release, page, device), views in sorted(recorded.items(), key=lambda pair: pair[0]):
        for hour in range(HOURS):
            drawn = {}
            for at in rng.integers(len(views), size=times * len(views) // HOURS):
                factor = rng.lognormal(-(0.3**2) / 2, 0.3)
                us, contribution = views[at]
                drawn[round(us * factor)] = encode_contribution(_scale(contribution, factor))
            cell = make_timed_views(
                project,
                list(drawn),
                release=release,
                page=page,
                device=device,
                starts_at=starts_at + timedelta(hours=hour),
            )
            made = list(PageView.objects.filter(project=project, cell_id=cell.id))
            for view in made:
                view.contribution = drawn[view.js_us]
            PageView.objects.bulk_update(made, ["contribution"])


def _scale(contribution: Contribution, factor: float) -> Contribution:
    def times(column: Sequence[int]) -> list[int]:
        return [round(us * factor) for us in column]

    return replace(
        contribution,
        self_us=times(contribution.self_us),
        total_us=times(contribution.total_us),
        hidden_us=times(contribution.hidden_us),
        hidden_total_us=times(contribution.hidden_total_us),
    )


@pytest.mark.parametrize("app", regressions(), ids=lambda app: app["app"])
def test_the_injected_regression_is_confirmed_and_controls_are_quiet(app: dict[str, Any]) -> None:  # Any: as recorded
    project = fill(app["app"])
    controls = set(app["pages"]) - set(app["affectedPages"])
    few = states_of(project)  # 28 recorded views per page and release
    assert any(few[page].is_open for page in app["affectedPages"]), few
    assert {page: few[page] for page in controls} == dict.fromkeys(controls, State.OK)
    replay(project, 3)
    many = states_of(project)
    assert any(many[page] is State.CONFIRMED for page in app["affectedPages"]), many
    assert {page: many[page] for page in controls} == dict.fromkeys(controls, State.OK)
    assert not StateChange.objects.filter(project=project, page__in=controls).exclude(state=State.OK).exists()
