"""`status` and `pages`: what a project has."""

from collections.abc import Mapping
from typing import Annotated

from rest_framework.request import Request

from aggregate.selectors.project.pages import select_pages
from aggregate.selectors.project.summaries import select_status
from dashboard.api.core.answer import Answer, doc
from dashboard.api.core.parameters import SLICE_PARAMS
from dashboard.api.core.parts import SliceAnswer, TruncatedShare, TruncatedViews, share_of
from dashboard.api.core.views import ProjectView
from dashboard.web.project_pages import PageTraits


class StatusAnswer(Answer):
    """received = pending + folded + rejected. Refused envelopes are counted separately."""

    received: int
    pending: int
    folded: int
    rejected: int
    refused: int
    dropped: Annotated[int, doc("The part of `refused` that exceeded a quota, a rate or another bound.")]
    refused_by_reason: Mapping[str, int]
    oldest_pending_s: float | None


class PageAnswer(Answer):
    """Page views. Some were recorded only in part: the buffer was full, or the page closed. Their sums are low."""

    page: str
    views: int
    truncated_views: TruncatedViews
    truncated_share: TruncatedShare
    js_ms_per_view: float | None


class PagesAnswer(Answer):
    slice: SliceAnswer
    pages: list[PageAnswer]


class StatusView(ProjectView):
    def get(self, request: Request, slug: str) -> StatusAnswer:
        """Counts of traces by state, so that a sender can wait until its traces are folded."""
        return StatusAnswer.of(select_status(self.project.pk))


class PagesView(ProjectView):
    traits = PageTraits(on_replica=True)
    known_params = SLICE_PARAMS

    def get(self, request: Request, slug: str) -> PagesAnswer:
        """Lists the pages of a slice; the page with the most JS time comes first."""
        slice_ = self.resolve_slice()
        pages = [
            PageAnswer.of(row, truncated_share=share_of(row.truncated_views, row.views)) for row in select_pages(slice_)
        ]
        return PagesAnswer(SliceAnswer.of(slice_), pages)
