"""The first sentence of the page "Quality": the worst problem, or how complete the data is."""

from dataclasses import replace

import pytest

from aggregate.selectors.project.absences import AbsenceReason, Absences
from aggregate.selectors.project.arrivals import Arrivals
from aggregate.selectors.project.quality import MeasuredRow, Overflow
from aggregate.selectors.project.reused_releases import ReusedRelease
from dashboard.pages.quality.headline import Quality, write_headline
from profcore.trace.weights import TimeParts

WHOLE = MeasuredRow(
    browser=None,
    device=None,
    navigation=None,
    sdk=None,
    views=100,
    unnamed_views=0,
    truncated_views=5,
    traces=100,
    time=TimeParts(span_us=1_000),
)
GOOD = Quality(
    arrivals=Arrivals(1_000),
    totals={"folded": 992, "pending": 3, "rejected": 5, "refused": 0},
    rejected_for="crashed",
    oldest_pending_s=5,
    absences=Absences(),
    whole=WHOLE,
    overflow=Overflow(views=0, without_release=0),
)


def first_of(**changes: object) -> str:
    return write_headline(replace(GOOD, **changes)).text.replace("\u202f", " ").replace("\xa0", " ")  # type: ignore[arg-type]  # a test's fields


def test_complete_data_is_said_in_one_sentence() -> None:
    assert first_of() == (
        "Data is complete enough: 99.2 % of received traces were folded, and 95.0 % of recordings ran to their end."
    )


def test_whole_data_is_not_called_enough() -> None:
    whole = {"whole": replace(WHOLE, truncated_views=0), "totals": GOOD.totals | {"folded": GOOD.arrivals.received}}
    assert first_of(**whole).startswith("Data is complete: 100 % of received traces were folded, and 100 %")


def test_without_traces_there_is_nothing_to_judge() -> None:
    none = replace(WHOLE, views=0, truncated_views=0)
    assert first_of(arrivals=Arrivals(0), whole=none, totals=dict.fromkeys(GOOD.totals, 0), oldest_pending_s=None) == (
        "No traces were received in this time."
    )


@pytest.mark.parametrize(
    ("changes", "beginning"),
    [
        ({"oldest_pending_s": 7_200}, "Traces are not being folded: 3 pending, the oldest for 120 minutes."),
        (
            {"arrivals": Arrivals(900, {"rate_limited": 90, "too_long": 10})},
            "10.0 % of traces were refused. The project sends too many traces per second.",
        ),
        ({"whole": replace(WHOLE, truncated_views=40)}, "40.0 % of page views have recordings that were cut short."),
        ({"overflow": Overflow(views=3, without_release=0)}, "3.0 % of page views count as (other)"),
        (
            {"reused": ReusedRelease("main", "/cart", "app-1A2B3C4D.js", "app-9F8E7D6C.js")},
            "Two builds have the release name main: on /cart, page views ran app-1A2B3C4D.js first, "
            "and app-9F8E7D6C.js later.",
        ),
    ],
)
def test_a_problem_comes_first(changes: dict[str, object], beginning: str) -> None:
    assert first_of(**changes).startswith(beginning)


def test_the_worst_problem_is_first_and_opens_its_section() -> None:
    headline = write_headline(
        replace(GOOD, whole=replace(WHOLE, truncated_views=25), totals=GOOD.totals | {"rejected": 500})
    )
    assert [problem.section for problem in headline.problems] == ["came", "measured"]
    assert headline.section == "came"


def test_browsers_without_the_api_are_no_problem() -> None:
    def absent(reason: str) -> Absences:
        row = AbsenceReason(reason=reason, status=0, reports=50, views=50)
        return Absences(reports=50, views=50, recorded=50, by_reason=[row])

    assert first_of(absences=absent("no-api")).startswith("Data is complete enough")
    assert first_of(absences=absent("no-header")).startswith("About 50.0 % of page views that loaded the snippet")
