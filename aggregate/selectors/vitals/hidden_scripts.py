"""Scripts that no trace shows, over views, by their origin: who costs time that nobody can see into."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings

from aggregate.selectors.page_views.contributions import SliceView
from aggregate.selectors.page_views.samples import ViewSampler
from aggregate.selectors.vitals.rows import RateSums, find_factors
from ingest.storage.groups import OTHER
from profcore.code.parties import known_party_of
from profcore.stats.summaries import FuncSummary, KnownSums, summarise
from profcore.trace.weights import TimeParts
from profcore.vitals.func_times import NO_TIMES, FuncTimes
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

    views: Counter[float] = field(default_factory=Counter)  # by their rate
    numbers: dict[str, int] = field(default_factory=dict)
    views_with: Counter[int] = field(default_factory=Counter)
    least_us: RateSums = field(default_factory=RateSums)  # by number
    most_us: RateSums = field(default_factory=RateSums)
    sampler: ViewSampler = field(default_factory=lambda: ViewSampler(settings.TABLE_STATISTICS_MAX_VIEWS))

    def add(self, view: SliceView, hidden: Mapping[str, OriginTime]) -> None:
        """Adds a view."""
        self.views[view.sample_rate] += 1
        if not hidden:  # as in most views
            self.sampler.add(view, TimeParts(), NO_TIMES)
            return
        least_us: Counter[int] = Counter()
        most_us: Counter[int] = Counter()
        for origin, time in hidden.items():
            is_known = origin in self.numbers or len(self.numbers) < MAX_ORIGINS
            number = self.numbers.setdefault(origin if is_known else OTHER, len(self.numbers))
            least_us[number] += time.least_us
            most_us[number] += time.most_us
        self.views_with.update(most_us.keys())
        least, most = (
            FuncTimes.of_values([sums[number] for number in range(len(self.numbers))]) for sums in (least_us, most_us)
        )
        self.least_us.add(view.sample_rate, least)
        self.most_us.add(view.sample_rate, most)
        self.sampler.add(view, TimeParts(js_us=most_us.total()), most)

    def make_rows(self, limit: int) -> Sequence[HiddenRow]:
        """Returns the origins of most time, as many as the limit."""
        if not self.numbers:
            return []
        factors = find_factors(self.views)
        least_us, most_us = (
            {number: us.self_us for (_, number), us in sums.sum(factors).items()}
            for sums in (self.least_us, self.most_us)
        )
        known = KnownSums(most_us, sum(most_us.values()))
        summaries = {row.func_id: row for row in summarise(self.sampler.sample(), known=known).functions}
        first = sorted(self.numbers.items(), key=lambda pair: (-most_us.get(pair[1], 0), pair[0]))[:limit]
        return [
            HiddenRow(
                origin=origin,
                party=_name_party(origin),
                views=self.views_with[number],
                least_ms=least_us.get(number, 0) / US_PER_MS / self.views.total(),
                most_ms=most_us.get(number, 0) / US_PER_MS / self.views.total(),
                summary=summaries.get(number),
            )
            for origin, number in first
        ]


def _name_party(origin: str) -> str | None:
    party = known_party_of(urlsplit(origin).hostname or "")
    return party.name if party else None
