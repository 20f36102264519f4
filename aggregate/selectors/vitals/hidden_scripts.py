"""Scripts that no trace shows, over views, by their origin: who costs time that nobody can see into."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from aggregate.selectors.page_views.contributions import SliceView
from aggregate.selectors.page_views.samples import ViewSampler
from aggregate.selectors.vitals.rows import contribution_of_values
from ingest.storage.groups import OTHER
from profcore.code.parties import known_party_of
from profcore.stats.summaries import FuncSummary, KnownSums, summarise
from profcore.trace.weights import TimeParts
from profcore.vitals.hidden_scripts import OriginTime

MAX_ORIGINS: Final = 200  # of a reading; strangers may make up more, which count together
US_PER_MS: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenRow:
    """One origin: what its hidden scripts took per view, ms, at least and at most, over all views that were read.

    `views` have such a script. `party` is the known third party that serves it. `summary` has the estimates of the
    upper bound (None: too few views).
    """

    origin: str
    party: str | None
    views: int
    least_ms: float
    most_ms: float
    summary: FuncSummary | None


@dataclass(slots=True, kw_only=True)
class HiddenSums:
    """The hidden time of some views, by origin."""

    views: int = 0
    numbers: dict[str, int] = field(default_factory=dict)
    views_with: Counter[int] = field(default_factory=Counter)
    least_us: Counter[int] = field(default_factory=Counter)
    most_us: Counter[int] = field(default_factory=Counter)
    sampler: ViewSampler = field(default_factory=lambda: ViewSampler(settings.TABLE_STATISTICS_MAX_VIEWS))

    def add(self, view: SliceView, hidden: Mapping[str, OriginTime]) -> None:
        """Adds a view."""
        self.views += 1
        values_us = [0] * (MAX_ORIGINS + 1)
        for origin, time in hidden.items():
            is_known = origin in self.numbers or len(self.numbers) < MAX_ORIGINS
            number = self.numbers.setdefault(origin if is_known else OTHER, len(self.numbers))
            self.views_with[number] += not values_us[number]
            self.least_us[number] += time.least_us
            self.most_us[number] += time.most_us
            values_us[number] += time.most_us
        self.sampler.add(view, TimeParts(js_us=sum(values_us)), contribution_of_values(values_us))

    def make_rows(self, limit: int) -> Sequence[HiddenRow]:
        """Returns the origins of most time, as many as the limit."""
        if not self.numbers:
            return []
        known = KnownSums({number: us for number, us in self.most_us.items() if us}, self.most_us.total())
        summaries = {row.func_id: row for row in summarise(self.sampler.sample(), known=known).functions}
        first = sorted(self.numbers, key=lambda origin: (-self.most_us[self.numbers[origin]], origin))[:limit]
        return [self._make_row(origin, summaries.get(self.numbers[origin])) for origin in first]

    def _make_row(self, origin: str, summary: FuncSummary | None) -> HiddenRow:
        number = self.numbers[origin]
        party = known_party_of(urlsplit(origin).hostname or "")
        return HiddenRow(
            origin=origin,
            party=party.name if party else None,
            views=self.views_with[number],
            least_ms=self.least_us[number] / US_PER_MS / self.views,
            most_ms=self.most_us[number] / US_PER_MS / self.views,
            summary=summary,
        )
