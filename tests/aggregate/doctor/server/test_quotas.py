"""The doctor says when a project's quota of bytes will be full, at the rate of the last days."""

from datetime import UTC, date, datetime

import pytest
from django.core.management import call_command

from aggregate.doctor.findings import State
from aggregate.doctor.server.quota_checks import MOST_NAMED, QuotaUse, check_quotas, judge_use, propose
from ingest.count_models import DayBytes
from ingest.endpoint.admission import MB, select_bytes
from profcore.times import DAY
from projects.models import Project

TODAY = date(2026, 11, 23)
NOW = datetime(2026, 11, 23, 9, tzinfo=UTC)
GB = 1_000


def make_use(
    by_day_mb: list[int], *, today_mb: int = 0, kept: int = 200 * GB, per_day: int = 20 * GB, days: int = 30
) -> QuotaUse:
    """Makes a project that stored so many MB on each of the last days, the newest last, and today."""
    past = {TODAY - (len(by_day_mb) - place) * DAY: mb * MB for place, mb in enumerate(by_day_mb)}
    by_day = past | {TODAY: today_mb * MB}
    return QuotaUse(slug="shop", by_day=by_day, max_mb_per_day=per_day, max_kept_mb=kept, keep_raw_days=days)


def test_fifty_traces_a_second_fill_the_quota_before_their_retention() -> None:
    """17.3 GB a day with 30 days of retention need 536 GB: it is said two weeks before, not when posts are refused."""
    assert judge_use(make_use([17_280]), TODAY) is not None
    finding = judge_use(make_use([17_280] * 5), TODAY)
    assert finding is not None
    assert finding.state == State.WARNING
    assert "keeps 86,400 of 200,000 MB" in finding.sentence
    assert "receives 17,280 MB a day. At this rate the quota is full in 7 days, before its traces" in finding.sentence
    assert finding.line == "./run set_project shop --max-kept-mb 650000"


@pytest.mark.parametrize(
    ("use", "days"),
    [
        (make_use([]), None),
        (make_use([], today_mb=199_999), None),  # no whole day yet: nothing is known of the rate
        (make_use([6_000] * 40), None),  # 31 days of it are less than the quota
        (make_use([10_000] * 3), 17),
        (make_use([10_000] * 3, kept=0), None),  # 0 is no quota
        (make_use([0] * 8 + [70_000]), 13),  # a mean of seven days, of which six had nothing
        (make_use([1_000, 0, 0, 0, 0, 0, 0, 10_000], days=7, kept=25_000), None),  # the first day has left the window
        (make_use([10_000] * 20), 0),
    ],
)
def test_the_days_until_the_quota_is_full(use: QuotaUse, days: int | None) -> None:
    assert use.days_until_full(TODAY) == days


def test_a_full_quota_is_a_problem() -> None:
    kept = judge_use(make_use([10_000] * 20), TODAY)
    assert kept is not None
    assert (kept.state, kept.sentence.split(":")[0]) == (State.PROBLEM, "Posts of shop are refused")
    day = judge_use(make_use([], today_mb=20_000), TODAY)
    assert day is not None
    assert (day.state, "until midnight" in day.sentence) == (State.PROBLEM, True)
    assert judge_use(make_use([], today_mb=20_000, per_day=0), TODAY) is None


def test_what_is_proposed_has_room_and_is_round() -> None:
    assert [propose(count * MB) for count in (1, 10, 99, 17_280, 536_000)] == [2, 12, 120, 21_000, 650_000]


@pytest.mark.django_db
def test_bytes_are_those_that_the_endpoint_counts_and_the_line_helps() -> None:
    project = Project.objects.create(slug="shop", name="Shop", max_kept_mb=100, keep_raw_days=10)
    for days in range(1, 7):
        for shard in range(2):
            DayBytes.objects.create(project=project, day_on=TODAY - days * DAY, shard=shard, bytes=5 * MB)
    DayBytes.objects.create(project=project, day_on=TODAY - 11 * DAY, shard=0, bytes=90 * MB)  # past the retention
    (finding,) = check_quotas(NOW)
    assert (finding.state, finding.check) == (State.WARNING, "quotas")
    assert f"keeps {select_bytes(project.pk, NOW, 10).kept // MB} of 100 MB" in finding.sentence
    assert "is full in 4 days" in finding.sentence
    call_command(*finding.line.split()[1:])
    assert [finding.state for finding in check_quotas(NOW)] == [State.OK]


@pytest.mark.django_db
def test_many_projects_are_not_all_named() -> None:
    for number in range(MOST_NAMED + 2):
        project = Project.objects.create(slug=f"p{number}", name="P", max_kept_mb=1 + number % 2)
        DayBytes.objects.create(project=project, day_on=TODAY - DAY, shard=0, bytes=MB)
    findings = list(check_quotas(NOW))
    assert len(findings) == MOST_NAMED + 1
    assert [one.state for one in findings[:4]] == [State.PROBLEM] * 4
    assert findings[-1].sentence == "The same is to be said of 2 more projects."
