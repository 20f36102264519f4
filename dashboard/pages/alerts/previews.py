"""The preview of a budget that raw traces tell: a job reads the days, and the page shows how far it is until then."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import Http404, HttpResponse

from aggregate.jobs.requests import TooManyJobs, has_result, select_job
from aggregate.models import Job
from alerts.budgets import Preview
from alerts.days import Day
from alerts.previews import PREVIEW_KIND, query_of, read_preview, start_preview
from alerts.reading import describe_budget
from dashboard.pages.settings.layout import SettingsRequest, settings_page

SECTION: Final = "settings-alerts"
# By measure: which page views count, and what is said of them.
DAY_WORDS: Final = {
    "inp_script": ("Views with an interaction", "75th percentile"),
    "forced_layout": ("Views", "Per view"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewProgress:
    """A preview, as far as its job is: without `past` it is being prepared, or it failed."""

    job: Job
    past: Preview | None = None
    about: str = ""
    most: int = 0
    views_word: str = ""  # what the page views and the figure of a day are
    figure_word: str = ""

    @property
    def days(self) -> list[tuple[Day, str]]:
        """The days that were read, with their states in words."""
        return [(day, state.name.capitalize()) for day, state in (self.past.days if self.past else [])]


def prepare_preview(page: SettingsRequest, question: dict[str, Any], now: datetime) -> PreviewProgress:  # Any: JSON
    """Starts a preview, or finds that of today. Raises `ValidationError`."""
    try:
        job = start_preview(page.project.pk, question, now)
    except TooManyJobs as error:
        raise ValidationError({"name": str(error)}) from None
    return describe_preview(job, now)


def describe_preview(job: Job, now: datetime) -> PreviewProgress:
    """Returns a preview as it is now."""
    if not has_result(job, now):
        return PreviewProgress(job=job)
    query = query_of(job)
    views_word, figure_word = DAY_WORDS[query.measure]
    return PreviewProgress(
        job=job,
        past=read_preview(job),
        about=describe_budget(query),
        most=settings.ALERTS_TRACE_VIEWS,
        views_word=views_word,
        figure_word=figure_word,
    )


@settings_page(SECTION, for_admins=True)
def show_preview(page: SettingsRequest, job_id: UUID) -> HttpResponse:
    """Shows a preview that was started."""
    job = select_job(page.project.pk, job_id)
    if job is None or job.kind != PREVIEW_KIND:
        raise Http404("There is no such preview.")
    return page.render("alert_preview", prepared=describe_preview(job, datetime.now(UTC)))
