"""The verdict on two releases: which page it leads with, its culprits, and what it says of all pages together."""

from dataclasses import replace

import numpy as np
import pytest
from django.utils import timezone
from pytest_django import Settings

from aggregate.models import Func, PageView
from aggregate.selectors.slice.sides import name_sides
from aggregate.selectors.slice.slices import Slice, SliceError
from aggregate.selectors.verdict.page_changes import sum_pages
from aggregate.selectors.verdict.sentence import plain_text, write_sentence
from aggregate.selectors.verdict.verdict import Verdict, select_verdict
from ingest.models import Group
from profcore.numbers import THIN
from profcore.stats.verdict.judgement import Change
from profcore.sums.blobs import Contribution, encode_contribution
from projects.models import Project
from tests.aggregate.selectors.two_releases import DAY, TIMES, make_two_releases
from tests.builders import MONDAY, make_func, make_group, make_timed_views

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return make_two_releases()


def sides(project: Project, base: str = "old", head: str = "new", pages: tuple[str, ...] = ()) -> tuple[Slice, Slice]:
    whole = Slice(project_id=project.pk, pages=pages)
    return replace(whole, releases=(base,)), replace(whole, releases=(head,))


def verdict_of(project: Project, base: str = "old", head: str = "new", pages: tuple[str, ...] = ()) -> Verdict:
    return select_verdict(*sides(project, base, head, pages), now=timezone.now())


def whole_of(project: Project) -> Change:
    return verdict_of(project).judgement.whole


def test_a_release_that_is_slower_is_called_slower(project: Project) -> None:
    verdict = verdict_of(project)
    leading = verdict.leading
    assert (leading.state, leading.page, leading.views) == ("slower", "/cart", (80, 44))
    assert leading.difference is not None
    assert leading.difference.ci95 is not None
    assert (leading.difference.base_ms, leading.difference.head_ms, leading.difference.delta_ms) == (15.0, 30.0, 15.0)
    assert 11.0 < leading.difference.ci95.low < 15.0 < leading.difference.ci95.high < 19.0
    assert verdict_of(project, "new", "old").leading.state == "faster"


def test_seen_and_hidden_time_are_one(project: Project) -> None:
    make_timed_views(project, TIMES, release="seen", hidden_us=30_000)
    make_timed_views(project, [us + 30_000 for us in TIMES], release="hidden")
    assert verdict_of(project, "seen", "hidden").leading.state == "no_clear_change"
    assert verdict_of(project, "old", "seen").leading.state == "slower"


def test_releases_on_other_devices_are_compared_at_one_mix(project: Project) -> None:
    for release, count, starts_at in (("old", 30, MONDAY), ("new", 90, MONDAY + 3 * DAY)):
        times = [100_000, 140_000] * (count // 2)
        make_timed_views(project, times, release=release, device="mobile-low", starts_at=starts_at)
    difference = whole_of(project).difference
    assert difference is not None
    mix = (30 / 110 + 90 / 134) / 2
    assert difference.delta_ms == pytest.approx(15.0 * (1 - mix))
    assert difference.crude_delta_ms > 40.0


def test_a_shift_of_pages_alone_is_no_change(project: Project) -> None:
    for release, count in (("old", 40), ("new", 200)):
        make_timed_views(project, [400_000, 600_000] * (count // 2), release=release, page="/report")
        make_timed_views(project, TIMES, release=release, page="/start")
    verdict = verdict_of(project, pages=("/report", "/start"))
    assert verdict.leading.state == "no_clear_change"
    assert verdict.judgement.whole.difference is not None
    assert verdict.judgement.whole.difference.delta_ms == pytest.approx(0.0)
    assert verdict.judgement.whole.difference.crude_delta_ms > 100.0


def test_a_sampled_verdict_has_the_means_of_all_views(project: Project, settings: Settings) -> None:
    settings.CHANGE_MAX_VIEWS = 30
    rng = np.random.default_rng(1)
    for release, starts_at in (("old", MONDAY), ("new", MONDAY + 3 * DAY)):
        times = (rng.lognormal(3, 0.5, 900) * 1_000).astype(int).tolist()
        make_timed_views(project, times, release=release, page="/many", starts_at=starts_at)
    comparison = whole_of(project).comparison
    assert comparison.overall is not None
    assert comparison.base_views < comparison.base_population == 980
    base_us, head_us = [sum(page_sums.us for page_sums in side.values()) for side in sum_pages(*sides(project)).sides]
    assert comparison.overall.base_ms == pytest.approx(base_us / 980 / 1_000)
    assert comparison.overall.head_ms == pytest.approx(head_us / 944 / 1_000)


def test_where_sums_are_of_expired_views_a_read_view_counts_for_those_that_were_not(
    project: Project, settings: Settings
) -> None:
    settings.CHANGE_MAX_VIEWS = 30
    for release in ("old", "new"):
        make_timed_views(project, [100_000] * 900, release=release, page="/many", sample_rate=0.5)
    comparison = whole_of(project).comparison
    assert comparison.overall is not None
    # 980 views of 15 ms or 100 ms, of which the rate of the second doubles the weight.
    assert comparison.overall.base_ms == pytest.approx((80 * 15 + 1_800 * 100) / 1_880, rel=0.02)


def test_too_few_views_are_not_compared(project: Project) -> None:
    make_timed_views(project, [10_000] * 3, release="newest")
    verdict = verdict_of(project, "new", "newest")
    assert (verdict.leading.state, verdict.leading.difference, verdict.culprits) == ("too_few", None, [])
    assert not verdict.has_answer


def test_the_worst_page_leads_and_all_have_their_state(project: Project) -> None:
    for release, more in (("old", 0), ("new", 5_000)):
        make_timed_views(project, [500_000 + 1_000 * n for n in range(40)], release=release, page="/heavy")
        make_timed_views(project, [10_000 + more + n for n in range(40)], release=release, page="/light")
        make_timed_views(project, [60_000 - more + n for n in range(40)], release=release, page="/quick")
        make_timed_views(project, [10_000] * 3, release=release, page="/rare")
    verdict = verdict_of(project)
    assert verdict.leading.page == "/cart"
    assert [(page.page, page.state) for page in verdict.judgement.pages] == [
        ("/cart", "slower"),
        ("/light", "slower"),
        ("/quick", "faster"),
        ("/heavy", "no_clear_change"),
        ("/rare", "too_few"),
    ]
    q = [page.difference.q for page in verdict.judgement.pages if page.difference]
    p = [page.difference.p for page in verdict.judgement.pages if page.difference]
    assert all(one >= other for one, other in zip(q, p, strict=True))


def test_pages_of_one_release_alone_are_not_compared(project: Project) -> None:
    make_timed_views(project, TIMES, release="new", page="/fresh")
    verdict = verdict_of(project)
    assert [page.page for page in verdict.judgement.pages] == ["/cart"]
    assert verdict.page_count == 2
    nowhere = verdict_of(project, pages=("/none",))
    assert (nowhere.leading.state, nowhere.judgement.pages) == ("too_few", ())


def test_one_page_is_compared_with_another(project: Project) -> None:
    make_timed_views(project, [50_000] * 40, release="old", page="/slow")
    whole = Slice(project_id=project.pk, releases=("old",))
    verdict = select_verdict(replace(whole, pages=("/cart",)), replace(whole, pages=("/slow",)), now=timezone.now())
    assert (verdict.leading.state, verdict.leading.page, verdict.judgement.pages) == ("slower", None, ())


def test_one_device_is_compared_with_another(project: Project) -> None:
    make_timed_views(project, [50_000] * 80, release="old", device="mobile-low")
    whole = Slice(project_id=project.pk, releases=("old",))
    verdict = select_verdict(
        whole.with_values("device", "desktop"), whole.with_values("device", "mobile-low"), now=timezone.now()
    )
    assert (verdict.leading.state, verdict.look) == ("slower", None)


def test_a_verdict_on_single_views_is_refused(project: Project) -> None:
    base, head = sides(project)
    with pytest.raises(SliceError, match="nothing finer"):
        select_verdict(replace(base, tags=(("plan", "pro"),)), head, now=timezone.now())


def give_func(project: Project, release: str, func: Func, us: int) -> None:
    """Gives a func as much self time in each view of a release."""
    groups = Group.objects.filter(project=project, release=release).values_list("id", flat=True)
    one = [1]
    blob = encode_contribution(
        Contribution(
            func=[func.id],
            self_us=[us],
            total_us=[us],
            hidden_us=[0],
            self_samples=one,
            total_samples=one,
            hidden_total_us=[0],
            uncertain_us=[0],
        )
    )
    PageView.objects.filter(project=project, group_id__in=list(groups)).update(contribution=blob)


def test_the_function_that_did_it_is_named(project: Project) -> None:
    slow = make_func(project, "findRuleFor")
    give_func(project, "old", slow, 5_000)
    give_func(project, "new", slow, 20_000)
    verdict = verdict_of(project)
    (culprit,) = verdict.culprits
    assert (culprit.func.name, culprit.why) == ("findRuleFor", "own_time")
    assert culprit.difference.delta_ms == pytest.approx(15.0)
    assert verdict_of(project, "new", "old").culprits[0].difference.delta_ms == pytest.approx(-15.0)


@pytest.mark.parametrize(
    ("us", "count", "ending"), [(20_000, 1, ", mainly f."), (8_000, 1, ", partly f."), (6_000, 0, ").")]
)
def test_the_sentence_names_a_function_that_has_enough_of_the_change(
    project: Project, us: int, count: int, ending: str
) -> None:
    slow = make_func(project, "f")
    give_func(project, "old", slow, 5_000)
    give_func(project, "new", slow, us)
    verdict = verdict_of(project)
    assert len(verdict.culprits) == count
    assert plain_text(write_sentence(verdict, "old", "new")).endswith(ending)


def test_a_verdict_says_what_it_could_have_seen(project: Project) -> None:
    make_timed_views(project, TIMES * 2, release="same", starts_at=MONDAY + DAY)
    verdict = verdict_of(project, "old", "same")
    assert verdict.leading.state == "no_clear_change"
    assert verdict.smallest is not None
    assert 0 < verdict.smallest.delta_ms < 6


def test_what_the_mix_of_pages_explains_is_named(project: Project) -> None:
    for release, count in (("old", 40), ("new", 200)):
        make_timed_views(project, [400_000, 600_000] * (count // 2), release=release, page="/report")
        make_timed_views(project, TIMES, release=release, page="/start")
    difference = verdict_of(project, pages=("/report", "/start")).judgement.whole.difference
    assert difference is not None
    assert difference.has_mix
    assert difference.mix_ms == pytest.approx(difference.crude_delta_ms)


def test_an_early_change_that_one_look_would_show_is_called_too_early(project: Project) -> None:
    make_group(project, "newest", "/cart", first_seen_at=timezone.now())
    make_timed_views(project, TIMES * 20, release="many")
    make_timed_views(project, [us + 3_000 for us in TIMES[:22]], release="newest")
    verdict = verdict_of(project, "many", "newest")
    assert (verdict.leading.state, verdict.leading.is_early, verdict.leading.is_only_in_mean) == (
        "no_clear_change",
        True,
        False,
    )
    text = plain_text(write_sentence(verdict, "many", "newest"))
    assert text.startswith("newest seems slower than many: +3\u202fms per view (")
    assert text.endswith("). It is too early to be certain.")


def test_sides_are_named_by_what_differs(project: Project) -> None:
    one = Slice(project_id=project.pk, releases=("old",), pages=("/cart",))
    assert name_sides(one, replace(one, releases=("new",))) == ("old", "new")
    desktop, phone = one.with_values("device", "desktop"), one.with_values("device", "mobile-low")
    assert name_sides(desktop, phone) == ("desktop", "mobile-low")
    assert name_sides(desktop, replace(phone, releases=("new",))) == ("old, desktop", "new, mobile-low")
    assert name_sides(one, one) == ("all", "all")


def test_all_pages_together_may_have_too_few_where_one_page_has_enough(project: Project) -> None:
    for release in ("old", "new"):
        make_timed_views(project, TIMES[:10], release=release, page="/rare", sample_rate=0.01, starts_at=MONDAY + DAY)
    verdict = verdict_of(project)
    assert (verdict.leading.page, verdict.judgement.whole.state) == ("/cart", "too_few")
    assert "All pages together: too few page views to compare." in plain_text(write_sentence(verdict, "old", "new"))


def test_pages_that_changed_are_counted_where_they_are_more_than_one(project: Project) -> None:
    for release, more_us in (("old", 90_000), ("new", 0)):
        make_timed_views(project, [us + more_us for us in TIMES], release=release, page="/other")
    verdict = verdict_of(project)
    assert sorted(page.state for page in verdict.judgement.pages) == ["faster", "slower"]
    text = plain_text(write_sentence(verdict, "old", "new"))
    assert " 1 slower and 1 faster of 2 pages; all together: " in text


def text_of(verdict: Verdict) -> str:
    names = name_sides(verdict.base, verdict.head)
    return plain_text(write_sentence(verdict, *names)).replace(THIN, " ")


def test_what_two_sdks_recorded_is_not_compared_and_the_sentence_says_so(project: Project) -> None:
    make_timed_views(project, [2 * us for us in TIMES], release="sentrys", sdk="sentry", starts_at=MONDAY + 4 * DAY)
    verdict = verdict_of(project, "old", "sentrys")
    assert (verdict.leading.state, verdict.judgement.is_confirmed) == ("too_few", False)
    assert [(share.sdk, share.base, share.head) for share in verdict.sdks] == [("fieldflame", 1, 0), ("sentry", 0, 1)]
    assert text_of(verdict) == (
        "Too few page views to compare sentrys with old. sentry recorded 0.0 % of the page views of old and 100 % of "
        "those of sentrys: only views of one SDK are compared with each other."
    )


def test_a_shift_of_sdks_is_said_beside_the_change_that_remains(project: Project) -> None:
    make_timed_views(project, [us // 3 for us in TIMES], release="old", sdk="sentry")
    verdict = verdict_of(project)
    assert verdict.leading.difference is not None
    assert (verdict.leading.difference.delta_ms, verdict.leading.comparison.left_out_views) == (15.0, 40 + 44)
    text = text_of(verdict)
    assert "fieldflame recorded 66.7 % of the page views of old and 100 % of those of new: only views" in text


def test_sides_recorded_alike_are_not_spoken_of(project: Project) -> None:
    for release, count in (("old", 20), ("new", 12)):
        make_timed_views(project, TIMES[:count], release=release, sdk="datadog", starts_at=MONDAY + DAY)
    verdict = verdict_of(project)
    assert verdict.sdks == []
    assert "recorded" not in text_of(verdict)


def test_sides_that_are_sdks_are_compared_with_a_warning(project: Project) -> None:
    make_timed_views(project, [us // 3 for us in TIMES], release="old", sdk="sentry")
    one = Slice(project_id=project.pk, releases=("old",))
    ours, sentrys = one.with_values("sdk", "fieldflame"), one.with_values("sdk", "sentry")
    verdict = select_verdict(ours, sentrys, now=timezone.now())
    assert verdict.leading.state == "faster"
    assert text_of(verdict).endswith("SDKs miss different parts of a view, so times may differ by that alone.")
