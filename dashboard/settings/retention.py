"""Retention and quota: how long each kind is kept, what there is of it now, and how much may come in a day."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from django import forms
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundField
from django.http import HttpResponse

from aggregate.retention import midnight
from aggregate.selectors.storage import Kept, Storage, select_storage
from dashboard.project_settings import count_today
from dashboard.settings.forms import SettingsForm
from dashboard.settings.frame import Desk, settings_page
from ingest.models import Project
from ingest.project_limits import LIMITS, ProjectLimit, change_limits, limit_of

MAX_DAYS: Final = 36_500
MAX_TRACES: Final = 2**31 - 1  # as the table has it
# (field, word, what it is and what goes with it)
KINDS: Final = (
    (
        "keep_raw_days",
        "Raw traces",
        "The traces as they came: what single views, their raw download, finer filters (tags, one view) and refolding "
        "are read from. The bulk of the disk, and what holds full addresses.",
    ),
    (
        "keep_views_days",
        "Views",
        "Each page view’s times by function: what intervals, percentiles and comparisons are computed from. Without "
        "them there are sums and means alone.",
    ),
    (
        "keep_cells_days",
        "Sums",
        "Sums by release, page, hour or day, device and browser, with their call trees: tables, trends and flame "
        "graphs. Without them nothing is left.",
    ),
)


class LimitsForm(SettingsForm):
    keep_raw_days = forms.IntegerField(label="Days to keep raw traces", required=False, min_value=1, max_value=MAX_DAYS)
    keep_views_days = forms.IntegerField(label="Days to keep views", required=False, min_value=1, max_value=MAX_DAYS)
    keep_cells_days = forms.IntegerField(label="Days to keep sums", required=False, min_value=1, max_value=MAX_DAYS)
    max_traces_per_day = forms.IntegerField(
        label="Traces a day",
        required=False,
        min_value=0,
        max_value=MAX_TRACES,
        help_text="By UTC day; 0 is no quota. What is beyond is refused, counted as such, and not sent again.",
    )


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of what is kept, as the page shows it."""

    word: str
    meaning: str
    field: BoundField
    limit: ProjectLimit
    kept: Kept


@dataclass(frozen=True, slots=True)
class Loss:
    """What a shorter retention deletes: all of a kind from before a day."""

    word: str
    days: int
    oldest_on: date
    before_on: date


@settings_page("settings-retention")
def show_retention(desk: Desk) -> HttpResponse:
    project, now = desk.project, datetime.now(UTC)
    limits = {name: limit_of(project, name) for name in LIMITS}
    form = LimitsForm(
        desk.request.POST if desk.has_posted else None, initial={name: each.own for name, each in limits.items()}
    )
    storage = select_storage(
        project.pk,
        raw_since=midnight(now, limits["keep_raw_days"].effective),
        views_since=midnight(now, limits["keep_views_days"].effective),
    )
    if form.is_bound and form.is_valid():
        losses = find_losses(project, form, storage, now)
        if losses and "confirmed" not in desk.request.POST:
            return desk.show("retention_confirm", form=form, losses=losses)
        try:
            change_limits(project, form.cleaned_data)
        except ValidationError as error:
            form.blame(error)
        else:
            desk.tell("limits changed:", *form.changed_data)
            return desk.leave("Saved.")
    kept = (storage.raw, storage.views, storage.cells)
    rows = [
        Row(word, meaning, form[name], limits[name], each)
        for (name, word, meaning), each in zip(KINDS, kept, strict=True)
    ]
    quota = limits["max_traces_per_day"]
    today = count_today(project) if quota.effective else None
    return desk.show(
        "retention",
        status=400 if form.is_bound else 200,
        form=form,
        rows=rows,
        quota=quota,
        today=today,
    )


def find_losses(project: Project, form: LimitsForm, storage: Storage, now: datetime) -> list[Loss]:
    """Returns what would go that is there now, by kinds whose retention gets shorter."""
    losses = []
    for (name, word, _), kept in zip(KINDS, (storage.raw, storage.views, storage.cells), strict=True):
        limit = limit_of(project, name)
        days = ProjectLimit(form.cleaned_data[name], limit.default).effective
        before_on = (now.astimezone(UTC) - timedelta(days=days)).date()
        if days < limit.effective and kept.oldest_on is not None and kept.oldest_on < before_on:
            losses.append(Loss(word, days, kept.oldest_on, before_on))
    return losses
