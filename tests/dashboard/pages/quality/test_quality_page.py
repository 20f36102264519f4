"""Data quality: what came in and what became of it, and how it was measured; in the API and on the page."""

import json
import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from aggregate.selectors.project.quality import IntakeDay, select_intake_days
from aggregate.selectors.slice.slices import Slice
from dashboard.pages.quality.reasons import REASON_WORDS, explain_reason
from dashboard.pages.quality.view import draw_days
from ingest.count_models import Refusal
from ingest.models import Receipt
from profcore.caching import clear_caches
from profcore.errors import Reason
from projects.models import Membership, Project
from tests.aggregate.posting import fold_all, post
from tests.builders import count_receipts, make_project
from tests.dashboard.pages.reading import text_of
from tests.envelopes import TIME_ORIGIN_MS, make_envelope, make_trace

HOUR = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36"
EDGE = CHROME + " Edg/141.0.0.0"
PICTURE = "A\nA B\n-\nA B"
WAYS = ("load", "load", "load", "route")


@pytest.fixture
def project(db: None) -> Project:
    """Five views in Chrome, of which one sampled every 20 ms and said 10, one in Edge; others refused or set aside."""
    project = make_project("shop")
    known: dict[str, Any] = {"requestedInterval": 10, "isolated": False, "reason": "timer"}
    for n in range(4):
        post("KEY-shop", make_envelope(f"c{n}", PICTURE, userAgent=CHROME, navigation=WAYS[n], **known))
    slow = make_trace(PICTURE, interval_ms=20)
    post("KEY-shop", make_envelope("slow", userAgent=CHROME, **known | {"trace": slow, "requestedInterval": 10.5}))
    post(
        "KEY-shop",
        make_envelope("edge", PICTURE, userAgent=EDGE, isolated=True, sampleRate=0.25, reason="pagehide"),
        make_envelope("broken", PICTURE, page="/broken"),
    )
    fold_all()
    Receipt.objects.filter(group_id=Receipt.objects.order_by("-group_id").values("group_id")[:1]).update(
        state=Receipt.State.REJECTED, reason="crashed"
    )
    count_receipts()
    for reason, count in (("rate_limited", 6), ("too_long", 3)):
        Refusal.objects.create(project=project, hour_at=HOUR - timedelta(days=1), reason=reason, shard=0, count=count)
    other = make_project("elsewhere")
    Refusal.objects.create(project=other, hour_at=HOUR, reason="crashed", shard=0, count=1_000)
    return project


def ask(client: Client, query: str = "") -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(client.get(f"/api/v1/projects/shop/quality?{query}").content)
    return answer


def test_traces_that_disagree_with_their_reported_interval_are_counted(reader: Client) -> None:
    gaps = {"resources": [], "frames": [], "stacks": [], "samples": [{"timestamp": n} for n in range(40)]}
    post("KEY-shop", make_envelope("liar", userAgent=EDGE, sampleInterval=1_000, trace=gaps))
    fold_all()

    sampled = ask(reader)["sampled"]
    assert sampled["interval_disagrees"] == {"traces": 1, "share": pytest.approx(1 / sampled["traces"])}
    rows = {(row["browser"], row["effective_ms"]): row["disagreeing_traces"] for row in sampled["intervals"]}
    assert rows[("edge", 1_000)] == sum(rows.values()) == 1
    receipt = Receipt.objects.get(interval_us=1_000_000)
    assert (receipt.used_interval_us, receipt.measured_interval_us) == (1_000, 1_000)
    assert set(Receipt.objects.exclude(pk=receipt.pk).values_list("used_interval_us", flat=True)) == {None}
    page = reader.get("/projects/shop/quality/?plain=1").content.decode()
    assert "Intervals not used" in page


def test_what_came_in_is_shown_by_day_and_reason(reader: Client) -> None:
    answer = ask(reader)
    assert answer["arrivals"]["received"] == 7
    assert answer["arrivals"]["refused_by_reason"] == {"rate_limited": 6, "too_long": 3}
    assert answer["rejected_by_reason"] == {"crashed": 1}
    yesterday, today = answer["days"]
    assert (yesterday["folded"], yesterday["refused"]) == (0, 9)
    assert {name: today[name] for name in ("folded", "pending", "rejected", "refused")} == {
        "folded": 6,
        "pending": 0,
        "rejected": 1,
        "refused": 0,
    }


def test_what_waits_is_in_its_day(reader: Client, project: Project) -> None:
    post("KEY-shop", make_envelope("late"))
    assert ask(reader)["days"][-1]["pending"] == 1
    text = text_of(reader, "/projects/shop/quality/")
    assert re.search(r"Pending 1 oldest received [-0-9]+ [0-9:]+ UTC", text)


def test_sums_by_browser_are_those_of_the_slice(reader: Client) -> None:
    answer = ask(reader, "page=/cart")
    chrome, edge = answer["by_browser"]
    assert (chrome["browser"], chrome["views"], chrome["truncated_views"]) == ("chrome", 5, 0)
    assert (edge["browser"], edge["views"], edge["truncated_views"]) == ("edge", 1, 1)
    assert chrome["samples_per_view"] == 4.0
    for row in (answer["whole"], chrome, edge):
        parts = [row["time_ms"][name] for name in ("js", "hidden", "engine", "idle", "unobserved", "profiler")]
        assert sum(parts) == pytest.approx(row["time_ms"]["span"])
    assert answer["whole"]["views"] == sum(row["views"] for row in answer["by_browser"])
    assert [row["browser"] for row in ask(reader, "browser=edge")["by_browser"]] == ["edge"]


def test_sums_by_navigation_are_those_of_the_slice(reader: Client) -> None:
    answer = ask(reader, "page=/cart")
    parts = [(row["navigation"], row["browser"], row["views"]) for row in answer["by_navigation"]]
    assert parts == [("load", None, 3), ("unknown", None, 2), ("route", None, 1)]
    spans = [row["time_ms"]["span"] for row in answer["by_navigation"]]
    assert sum(spans) == pytest.approx(answer["whole"]["time_ms"]["span"])
    assert [row["navigation"] for row in ask(reader, "navigation=route")["by_navigation"]] == ["route"]
    assert re.search(r"By navigation.* load 3 50\.0 %", text_of(reader, "/projects/shop/quality/?page=/cart"))


def test_what_each_sdk_recorded_stands_beside_what_it_leaves_out(reader: Client) -> None:
    assert "What each SDK leaves out" not in text_of(reader, "/projects/shop/quality/")
    for n, page in enumerate(("/cart", "(unknown)")):
        post("KEY-shop", make_envelope(f"s{n}", PICTURE, page=page, userAgent=CHROME, tags={"sdk": "sentry"}))
    fold_all()
    answer = ask(reader)
    rows = [(row["sdk"], row["browser"], row["views"], row["unnamed_views"]) for row in answer["by_sdk"]]
    assert rows == [("fieldflame", None, 7, 0), ("sentry", None, 2, 1)]
    assert sum(row["views"] for row in answer["by_browser"]) == answer["whole"]["views"] == 9
    assert answer["sampled"]["sdk_measured_ms"].keys() <= {"fieldflame", "sentry"}
    text = text_of(reader, "/projects/shop/quality/")
    assert re.search(r"What each SDK leaves out fieldflame 77\.8 %, sentry 22\.2 %", text)
    assert re.search(r"sentry 2 22\.2 % 50\.0 % .* The end of a visit, after its last chunk\.", text)
    (link,) = re.findall(r'href="\?(sdk=sentry)" data-slice', reader.get("/projects/shop/quality/").content.decode())
    assert "Remove SDK sentry" in text_of(reader, f"/projects/shop/quality/?{link}")
    alone = ask(reader, link)
    assert (alone["whole"]["views"], [row["sdk"] for row in alone["by_sdk"]]) == (2, ["sentry"])


def test_the_measured_interval_is_shown_by_sdk(reader: Client) -> None:
    for name, interval_ms, tags in (("ours", 10, None), ("theirs", 16, {"sdk": "datadog"})):
        trace = make_trace("A\n" * 60, interval_ms=interval_ms)
        post("KEY-shop", make_envelope(name, page="/long", trace=trace, tags=tags))
    fold_all()
    assert ask(reader, "page=/long")["sampled"]["sdk_measured_ms"] == {"fieldflame": 10.0, "datadog": 16.0}
    text = text_of(reader, "/projects/shop/quality/sampled/?page=/long")
    assert re.search(r"Measured interval by SDK fieldflame 10\S* ms,? datadog 16\S* ms", text.replace("\u202f", " "))


def test_the_cost_of_the_snippet_itself_is_shown_per_view(reader: Client) -> None:
    assert ask(reader, "page=/cart")["sampled"]["snippet"] is None
    for n, costs in enumerate([(1.0, 0.5), (2.0,), (4.0,), (0.0,)]):
        for seq, ms in enumerate(costs):
            post("KEY-shop", make_envelope(f"told{n}", PICTURE, page="/told", seq=seq, cost={"ms": ms}))
    post("KEY-shop", make_envelope("told0", PICTURE, page="/told", seq=2), make_envelope("silent", page="/told"))
    fold_all()
    sampled = ask(reader, "page=/told")["sampled"]
    assert sampled["snippet"] == {"views": 4, "median_ms": 1.75, "p95_ms": 4.0}
    assert sampled["snippet_sampled"] is None
    address = "/projects/shop/quality/sampled/?page="
    said = r"The snippet’s own clock, which sees only synchronous calls, says 1\.[78]\d* ms \(median; p95 4.* ms\)\."
    assert re.search(said, text_of(reader, f"{address}/told"))
    assert "own clock" not in text_of(reader, f"{address}/cart")

    post("KEY-shop", make_envelope("told0", PICTURE, page="/told", seq=3, cost={"ms": 0, "sampled": 30}))
    fold_all()
    assert ask(reader, "page=/told")["sampled"]["snippet_sampled"] == {"views": 1, "median_ms": 30.0, "p95_ms": 30.0}
    text = text_of(reader, f"{address}/told")
    assert "The snippet itself counted 30 ms (median; p95 30 ms)." in text
    assert "own clock" not in text, "which says less"


def test_own_cost_is_what_was_folded_by_device_class(reader: Client) -> None:
    own = "stop\nstop\nA"
    for n in range(4):
        trace = make_trace("\n".join([own] * (n + 1) + ["-"] * 50))
        trace["frames"][0] = {"name": "stop"}
        device = {"mobile": n > 1, "memory": 8, "cores": 8}
        post("KEY-shop", make_envelope(f"own{n}", page="/own", trace=trace, device=device, cost={"ms": 900.0}))
    fold_all()
    costs = ask(reader, "page=/own")["sampled"]["own_cost"]
    assert [(cost["device"], cost["views"], cost["median_ms"], cost["p95_ms"]) for cost in costs] == [
        (None, 4, 50.0, 80.0),
        ("desktop-high", 2, 30.0, 40.0),
        ("mobile-high", 2, 70.0, 80.0),
    ]
    assert [cost["share"] for cost in costs] == pytest.approx([2 / 3] * 3), "of what it and the page took"
    text = text_of(reader, "/projects/shop/quality/sampled/?page=/own")
    assert re.search(r"Own cost per page view .* All 4 50 ms 80 ms 66\.7 % .* mobile-high 2 70 ms 80 ms 66\.7 %", text)
    assert ask(reader, "page=/nowhere")["sampled"]["own_cost"] == []


def test_an_interval_that_is_not_what_the_browser_says_is_found(reader: Client) -> None:
    right, *_, wrong = sorted(
        ask(reader, "browser=chrome")["sampled"]["intervals"], key=lambda row: float(row["requested_ms"])
    )
    assert (right["requested_ms"], right["effective_ms"], right["measured_ms"]) == (10.0, 10.0, 10.0)
    assert (right["traces"], right["wrong_traces"]) == (4, 0)
    assert (wrong["requested_ms"], wrong["effective_ms"], wrong["measured_ms"]) == (10.5, 10.0, 20.0)
    assert (wrong["measured_traces"], wrong["wrong_traces"], wrong["measured_p95_ms"]) == (1, 1, 20.0)


def test_isolation_rates_and_ends_are_counted_by_trace(reader: Client) -> None:
    sampled = ask(reader, "page=/cart")["sampled"]
    assert (sampled["views"], sampled["population"], sampled["traces"]) == (6, 6, 6)
    assert sampled["isolated"] == {"yes": 1, "no": 5, "unknown": 0}
    assert sampled["sample_rates"] == [{"sample_rate": 0.25, "traces": 1}, {"sample_rate": 1.0, "traces": 5}]
    assert sampled["end_reasons"] == {"timer": 5, "pagehide": 1}
    assert sampled["body_bytes"] > 100


def test_receipts_are_read_of_a_sample_of_views(reader: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aggregate.selectors.project.quality.SAMPLED_VIEWS", 2)
    sampled = ask(reader, "page=/cart")["sampled"]
    assert (sampled["views"], sampled["population"], sampled["traces"]) == (2, 6, 2)
    assert "2 traces of an even sample of 2 from 6 page views" in text_of(
        reader, "/projects/shop/quality/sampled/?page=/cart"
    )


def test_the_page_says_what_to_do_about_each_reason(reader: Client) -> None:
    text = text_of(reader, "/projects/shop/quality/")
    assert re.search(
        r"rate_limited 6 66.7 % The project sends too many traces per second. Lower the sampling rate", text
    )
    assert re.search(r"crashed 1 100 % A worker crashed on it three times.", text)
    assert "Received 7" in text
    assert "Firefox, Safari and all browsers on iOS record nothing" in text
    assert "chrome desktop" in text
    assert "Recording" in text


def test_without_script_the_sampled_part_comes_with_the_page(reader: Client) -> None:
    page = reader.get("/projects/shop/quality/").content.decode()
    assert 'hx-get="/projects/shop/quality/sampled/' in page
    assert 'href="/projects/shop/quality/?plain=1"' in page
    text = text_of(reader, "/projects/shop/quality/?plain=1")
    assert re.search(r"Wrong intervals 1[0-9].[0-9] % of [67] measurable traces", text)


def test_numbers_of_few_views_are_marked(reader: Client) -> None:
    page = reader.get("/projects/shop/quality/?page=/cart").content.decode()
    assert page.count('class="too-few" title="Fewer than 25 page views: could be noise"') == 2 + 3


def test_what_was_refused_or_rejected_leads_here_from_every_page(reader: Client) -> None:
    for address in ("/projects/shop/functions/", "/projects/shop/", "/projects/shop/flame-graph/"):
        page = reader.get(address).content.decode()
        for label in ("1 rejected", "9 refused", "See what to do"):
            assert f'<a href="/projects/shop/quality/">{label}</a>' in page, address


def test_a_project_of_which_nothing_came_has_the_page_too(reader: Client) -> None:
    Membership.objects.create(project=Project.objects.get(slug="elsewhere"), user=User.objects.get())
    Refusal.objects.all().delete()
    text = text_of(reader, "/projects/elsewhere/quality/")
    assert "No traces in this time." in text
    assert "No page view of this slice is folded" in text


def test_a_fine_slice_is_said_not_to_be_looked_at(reader: Client) -> None:
    assert "This page ignores filters by tag, single view and trace." in text_of(
        reader, "/projects/shop/quality/?tag=a:b"
    )


def test_every_reason_has_a_meaning_and_an_advice() -> None:
    assert set(REASON_WORDS) == set(Reason)
    assert all(meaning and advice for meaning, advice in REASON_WORDS.values())
    assert explain_reason("of_an_older_version") == ("", "")


def test_a_day_without_traces_is_a_gap_and_bars_stack_up() -> None:
    first = date(2026, 11, 1)
    chart = draw_days(
        [
            IntakeDay(day=first, folded=6, pending=0, rejected=2, refused=2),
            IntakeDay(day=first + timedelta(days=2), folded=0, pending=5, rejected=0, refused=0),
        ]
    )
    assert chart.highest == 10
    assert [bar.x for bar in chart.bars] == [0, 20]
    assert [(piece.state, piece.y, piece.height) for piece in chart.bars[0].pieces] == [
        ("folded", "40.0", "60.0"),
        ("rejected", "20.0", "20.0"),
        ("refused", "0.0", "20.0"),
    ]
    assert [(piece.state, piece.height) for piece in chart.bars[1].pieces] == [("pending", "50.0")]


def test_only_the_last_days_are_read_where_they_are_too_many(reader: Client, project: Project) -> None:
    (today,) = select_intake_days(Slice(project_id=project.pk), limit=1)
    assert today.folded == 6


def test_what_counts_as_other_is_said_with_what_to_do(reader: Client, settings: Settings) -> None:
    assert "Page views without a page of their own" not in reader.get("/projects/shop/quality/").content.decode()
    settings.INGEST_MAX_GROUPS = 1
    clear_caches()
    post("KEY-shop", make_envelope("n1", page="/new"), make_envelope("n2", release="9.9.9"))
    fold_all()
    text = text_of(reader, "/projects/shop/quality/")
    assert "2 page views of the slice count as (other) , without their release." in text
    assert ask(reader)["overflow"] == {"views": 2, "without_release": 2}


def test_functions_beyond_the_days_room_are_said(reader: Client, settings: Settings) -> None:
    settings.FOLD_MAX_NEW_FUNCS = 0
    post("KEY-shop", make_envelope("n1", "X Y"))
    fold_all()
    text = text_of(reader, "/projects/shop/quality/")
    assert "2 times a new function counted as the function (other) : a project may have 0 new ones a day." in text
    assert ask(reader)["functions_beyond"] == 2


def test_a_release_of_two_builds_is_said_with_what_to_do(reader: Client) -> None:
    """The same script with another content hash, an hour later."""
    assert ask(reader)["reused_release"] is None
    for hour, name in enumerate(("app-1A2B3C4D.js", "app-9F8E7D6C.js")):
        trace = make_trace(PICTURE) | {"resources": [f"https://shop.example/{name}"]}
        start_ms = TIME_ORIGIN_MS + 3_600_000 * hour
        fields: dict[str, Any] = {"trace": trace, "timeOrigin": start_ms, "page": "/lists", "release": "main"}
        post("KEY-shop", *(make_envelope(f"{name}{n}", **fields) for n in range(10)))
    fold_all()
    assert ask(reader)["reused_release"] == {
        "release": "main",
        "page": "/lists",
        "earlier": "app-1A2B3C4D.js",
        "later": "app-9F8E7D6C.js",
    }
    assert ask(reader, "release=1.0.0")["reused_release"] is None
    text = text_of(reader, "/projects/shop/quality/")
    assert "Two builds have the release name main: on /lists, page views ran app-1A2B3C4D.js first" in text
    assert "Name each build differently, or changes between them are not seen." in text
