"""The check of projects' quotas of bytes: which refuse posts, or soon will at the rate of the last days."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from django.db import connection

from aggregate.doctor.findings import Finding, ok, problem, warning
from ingest.endpoint.admission import MB
from profcore.times import DAY
from projects.limits import limit_of
from projects.models import Project

WINDOW_DAYS: Final = 7  # a week has each day of the week once
WARNING_DAYS: Final = 14  # time to enlarge a disk, or to decide on a shorter retention
ROOM: Final = 1.2  # of the quota that is proposed, beyond what the rate needs
MOST_NAMED: Final = 5  # projects; an installation may have hundreds
BYTES_BY_DAY: Final = """
SELECT d.project_id, d.day_on, sum(d.bytes)::bigint FROM ingest_daybytes d GROUP BY d.project_id, d.day_on"""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaUse:
    """A project's bytes of raw traces by UTC day, and its limits: MB (0: none) and days of retention."""

    slug: str
    by_day: Mapping[date, int]
    max_mb_per_day: int
    max_kept_mb: int
    keep_raw_days: int

    def kept(self, today: date, later: int = 0) -> float:
        """Returns the bytes within the retention, after this number of days, if days go on as the last ones were."""
        end = today + later * DAY
        since = end - self.keep_raw_days * DAY
        coming = min(later, self.keep_raw_days + 1) * (self.rate(today) or 0.0)
        return sum(count for day, count in self.by_day.items() if day >= since) + coming

    def rate(self, today: date) -> float | None:
        """Returns the bytes of a day, as a mean of the last whole ones; None before there is one."""
        whole = {day: count for day, count in self.by_day.items() if today - WINDOW_DAYS * DAY <= day < today}
        return sum(whole.values()) / ((today - min(whole)) / DAY) if whole else None

    def days_until_full(self, today: date) -> int | None:
        """Returns in how many days the quota of kept bytes is full, at this rate; None if never."""
        if not self.max_kept_mb:
            return None
        for later in range(self.keep_raw_days + 2):
            if self.kept(today, later) >= self.max_kept_mb * MB:
                return later
        return None


def check_quotas(now: datetime) -> Iterator[Finding]:
    """Yields which projects' quotas of bytes are full, or soon will be."""
    today = now.date()
    uses = select_uses()
    findings = [finding for use in uses if (finding := judge_use(use, today)) is not None]
    findings.sort(key=lambda finding: finding.state)  # "problem" comes before "warning"
    yield from findings[:MOST_NAMED]
    if (more := len(findings) - MOST_NAMED) > 0:
        yield warning("quotas", f"The same is to be said of {more} more project{'' if more == 1 else 's'}.")
    if not findings:
        yield ok("quotas", "No project's quota of bytes is full, or will be soon.")


def select_uses() -> list[QuotaUse]:
    """Returns what each project has stored by day. One short statement: a row for each day and shard."""
    by_project: dict[int, dict[date, int]] = defaultdict(dict)
    with connection.cursor() as cursor:
        cursor.execute(BYTES_BY_DAY)
        for project_id, day, count in cursor:
            by_project[project_id][day] = count
    return [
        QuotaUse(
            slug=project.slug,
            by_day=by_project[project.pk],
            max_mb_per_day=limit_of(project, "max_mb_per_day").effective,
            max_kept_mb=limit_of(project, "max_kept_mb").effective,
            keep_raw_days=limit_of(project, "keep_raw_days").effective,
        )
        for project in Project.objects.filter(deletion_started_at=None).order_by("id")
        if project.pk in by_project
    ]


def judge_use(use: QuotaUse, today: date) -> Finding | None:
    """Returns what is to be said of a project's quotas; None if they suffice."""
    if use.max_mb_per_day and use.by_day.get(today, 0) >= use.max_mb_per_day * MB:
        return problem(
            "quotas",
            f"Posts of {use.slug} are refused until midnight (UTC): it has sent {use.max_mb_per_day:,} MB of traces "
            "today, which is its quota of a day.",
            line=f"./run set_project {use.slug} --max-mb-per-day {propose(use.by_day[today])}",
        )
    days, rate = use.days_until_full(today), use.rate(today)
    if days is None or days > WARNING_DAYS:
        return None
    needed = propose(max((rate or 0.0) * (use.keep_raw_days + 1), use.kept(today)))
    line = f"./run set_project {use.slug} --max-kept-mb {needed}"
    what_to_do = "Raise the quota if the disk has room, or keep raw traces for less time."
    if not days:
        return problem(
            "quotas",
            f"Posts of {use.slug} are refused: it keeps {use.max_kept_mb:,} MB of raw traces, which is its quota. "
            f"{what_to_do}",
            line=line,
        )
    return warning(
        "quotas",
        f"{use.slug} keeps {use.kept(today) / MB:,.0f} of {use.max_kept_mb:,} MB of raw traces, and receives "
        f"{(rate or 0.0) / MB:,.0f} MB a day. At this rate the quota is full in {days} day{'' if days == 1 else 's'}, "
        f"before its traces expire after {use.keep_raw_days}; then its posts are refused. {what_to_do}",
        line=line,
    )


def propose(needed_bytes: float) -> int:
    """Returns a quota in MB with some room, in two leading digits."""
    megabytes = max(1, math.ceil(needed_bytes * ROOM / MB))
    step: int = 10 ** max(0, len(str(megabytes)) - 2)
    return math.ceil(megabytes / step) * step
