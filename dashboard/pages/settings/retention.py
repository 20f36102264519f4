"""The settings page "Retention and quota": how long each kind of data is kept, and how many traces and bytes."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Final

from django import forms
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundField
from django.http import HttpResponse

from aggregate.selectors.project.storage import Kept, Storage, select_storage
from dashboard.api.project.settings import count_today
from dashboard.layout.forms import SettingsForm
from dashboard.pages.settings.layout import SettingsRequest, settings_page
from ingest.endpoint.admission import MB, select_bytes
from profcore.times import midnight_days_before
from projects.limits import LIMITS, ProjectLimit, change_limits, limit_of
from projects.models import Project

MAX_DAYS: Final = 36_500
MAX_TRACES: Final = 2**31 - 1  # as the table has it
# (field, label, meaning)
KINDS: Final = (
    (
        "keep_raw_days",
        "Raw traces",
        "The traces as they were received. Needed for single views, raw downloads, filters by tag or view, and "
        "refolding. They use most of the disk, and contain full URLs.",
    ),
    (
        "keep_views_days",
        "Views",
        "The times of each page view by function. Needed for intervals, percentiles and comparisons. Without them "
        "there are only sums and means.",
    ),
    (
        "keep_cells_days",
        "Sums",
        "Sums and call trees by release, page, hour or day, device and browser. Needed for tables, trends and flame "
        "graphs.",
    ),
)


class LimitsForm(SettingsForm):
    keep_raw_days = forms.IntegerField(label="Days to keep raw traces", required=False, min_value=1, max_value=MAX_DAYS)
    keep_views_days = forms.IntegerField(label="Days to keep views", required=False, min_value=1, max_value=MAX_DAYS)
    keep_cells_days = forms.IntegerField(label="Days to keep sums", required=False, min_value=1, max_value=MAX_DAYS)
    max_traces_per_day = forms.IntegerField(
        label="Traces per day",
        required=False,
        min_value=0,
        max_value=MAX_TRACES,
        help_text="By UTC day; 0 means no quota. Traces beyond the quota are refused and not sent again.",
    )
    max_mb_per_day = forms.IntegerField(
        label="Megabytes per day",
        required=False,
        min_value=0,
        max_value=MAX_TRACES,
        help_text="Of raw traces, packed, by UTC day; 0 means no quota.",
    )
    max_kept_mb = forms.IntegerField(
        label="Megabytes kept",
        required=False,
        min_value=0,
        max_value=MAX_TRACES,
        help_text="Of raw traces, packed, as long as they are kept; 0 means no quota.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRow:
    """One kind of data: its limit, and how much there is now."""

    word: str
    meaning: str
    field: BoundField
    limit: ProjectLimit
    kept: Kept


@dataclass(frozen=True, slots=True, kw_only=True)
class ByteRow:
    """One quota of bytes: its limit in megabytes, and the bytes that are used of it."""

    word: str
    field: BoundField
    limit: ProjectLimit
    used: int

    @property
    def used_mb(self) -> int:
        return round(self.used / MB)


@dataclass(frozen=True, slots=True)
class Loss:
    """What a shorter retention deletes: one kind of data from before a day."""

    word: str
    days: int
    oldest_on: date
    before_on: date


@settings_page("settings-retention")
def show_retention(page: SettingsRequest) -> HttpResponse:
    project, now = page.project, datetime.now(UTC)
    limits = {name: limit_of(project, name) for name in LIMITS}
    sent = page.request.POST if page.has_posted else None
    form = LimitsForm(sent, initial={name: limit.own for name, limit in limits.items()})
    storage = select_storage(
        project.pk,
        raw_since=midnight_days_before(now, limits["keep_raw_days"].effective),
        views_since=midnight_days_before(now, limits["keep_views_days"].effective),
    )
    if form.is_bound and form.is_valid():
        losses = find_losses(project, form, storage, now)
        if losses and "confirmed" not in page.request.POST:
            return page.render("retention_confirm", form=form, losses=losses)
        try:
            change_limits(project, form.cleaned_data)
        except ValidationError as error:
            form.add_service_errors(error)
        else:
            page.log_change("limits changed:", *form.changed_data)
            return page.redirect("The limits are saved.")
    return render_retention(page, form, limits, storage)


def render_retention(
    page: SettingsRequest, form: LimitsForm, limits: Mapping[str, ProjectLimit], storage: Storage
) -> HttpResponse:
    """Returns the page: what is kept of each kind, and the quota."""
    rows = [
        KeptRow(word=word, meaning=meaning, field=form[name], limit=limits[name], kept=kept)
        for (name, word, meaning), kept in zip(KINDS, (storage.raw, storage.views, storage.cells), strict=True)
    ]
    quota = limits["max_traces_per_day"]
    used = select_bytes(page.project.pk, datetime.now(UTC), limits["keep_raw_days"].effective)
    kinds = (("max_mb_per_day", "received today", used.today), ("max_kept_mb", "kept", used.kept))
    return page.render(
        "retention",
        status=400 if form.is_bound else 200,
        form=form,
        rows=rows,
        quota=quota,
        today=count_today(page.project) if quota.effective else None,
        byte_rows=[
            ByteRow(word=word, field=form[name], limit=limits[name], used=bytes_) for name, word, bytes_ in kinds
        ],
    )


def find_losses(project: Project, form: LimitsForm, storage: Storage, now: datetime) -> list[Loss]:
    """Returns what the form would delete, for each kind with a shorter retention."""
    losses = []
    for (name, word, _), kept in zip(KINDS, (storage.raw, storage.views, storage.cells), strict=True):
        limit = limit_of(project, name)
        days = ProjectLimit(form.cleaned_data[name], limit.default).effective
        before_on = (now.astimezone(UTC) - timedelta(days=days)).date()
        if days < limit.effective and kept.oldest_on is not None and kept.oldest_on < before_on:
            losses.append(Loss(word, days, kept.oldest_on, before_on))
    return losses
