"""The page's own timings that go with a chunk."""

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.ingest.snippet.browsing import BUSY, wait_until
from tests.ingest.snippet.site import Site

pytestmark = [pytest.mark.e2e, pytest.mark.slow(20)]


def marks_of(site: Site, kind: str) -> list[dict[str, Any]]:  # Any: JSON of the snippet
    return [mark for envelope in site.envelopes for mark in envelope["marks"] if mark["type"] == kind]


def test_a_long_frame_has_its_scripts_with_their_ranges(site: Site, page: Page) -> None:
    work = """
    function layOut() {
      const end = performance.now() + 90;
      const { body } = document;
      while (performance.now() < end) { body.style.width = Math.random() * 100 + 'px'; body.offsetTop; }
    }
    addEventListener('load', () => requestAnimationFrame(function paint() { layOut(); }));
    """
    site.add_page(after=f"document.body.append('text'); {work}")
    page.goto(site.url("/?secret=1"))
    wait_until(page, lambda: any(mark["scripts"] for mark in marks_of(site, "long-animation-frame")))
    scripts = [script for mark in marks_of(site, "long-animation-frame") for script in mark["scripts"]]
    script = max(scripts, key=lambda script: float(script["duration"]))
    assert set(script) == {
        *("start", "duration", "url", "function", "position", "forced", "invoker", "invokerType"),
    }
    assert script["duration"] >= 85
    assert script["forced"] > 0
    assert script["url"] == site.url("/")  # without the query


def test_a_long_frame_has_all_its_scripts_or_does_not_speak_of_them(site: Site, page: Page) -> None:
    work = """
    let frames = 0;
    function next() {
      for (let n = 0; n < 9; n += 1) requestAnimationFrame(() => spin(7));
      if ((frames += 1) < 40) requestAnimationFrame(next);
      else performance.mark('done');
    }
    addEventListener('load', next);
    """
    site.add_page(after=BUSY + work)
    page.goto(site.url())
    wait_until(page, lambda: bool(marks_of(site, "mark")))
    frames = marks_of(site, "long-animation-frame")
    with_scripts = [frame["scripts"] for frame in frames if "scripts" in frame]
    assert 100 < sum(map(len, with_scripts)) <= 200  # of a view
    assert len(with_scripts) < len(frames)
    begun = next(number for number, scripts in enumerate(with_scripts) if scripts)
    assert [] not in with_scripts[begun:]  # before, a busy machine may paint late without any script


def test_paints_shifts_and_the_pages_own_marks_are_sent(site: Site, page: Page) -> None:
    after = """
    document.body.innerHTML = '<p id=big style="font-size:80px">A large text</p>';
    performance.mark('ready', {detail: 1});
    performance.measure('setup', {start: 1, end: 9});
    setTimeout(() => document.body.prepend(Object.assign(document.createElement('div'), {style: 'height:200px'})), 200);
    """
    site.add_page(attributes="data-duration=2500", after=after)
    page.goto(site.url())
    for kind in ("first-contentful-paint", "largest-contentful-paint", "layout-shift", "mark", "measure"):
        wait_until(page, lambda kind=kind: marks_of(site, kind) != [])  # type: ignore[misc]  # a lambda's default
    assert marks_of(site, "largest-contentful-paint")[0]["target"] == "p#big"
    assert marks_of(site, "layout-shift")[0]["value"] > 0
    assert marks_of(site, "mark")[0]["name"] == "ready"
    (measure,) = marks_of(site, "measure")
    assert (measure["name"], measure["start"], measure["duration"]) == ("setup", 1, 8)


def test_an_interaction_has_its_phases_and_its_target(site: Site, page: Page) -> None:
    site.add_page(after=f"{BUSY} document.body.innerHTML = '<button id=buy onclick=spin(120)>Buy</button>';")
    page.goto(site.url())
    page.click("#buy")
    wait_until(page, lambda: any(mark["name"] == "click" for mark in marks_of(site, "interaction")))
    click = next(mark for mark in marks_of(site, "interaction") if mark["name"] == "click")
    assert click["target"] == "button#buy"
    assert click["duration"] >= 100
    assert click["start"] <= click["processingStart"] < click["processingEnd"]
    assert click["interactionId"] > 0


def test_a_page_that_sets_a_mark_for_each_frame_stays_small(site: Site, page: Page) -> None:
    site.add_page(attributes="data-duration=900", after="for (let n = 0; n < 5000; n += 1) performance.mark(`m${n}`);")
    page.goto(site.url())
    wait_until(page, lambda: marks_of(site, "mark") != [])
    assert len(marks_of(site, "mark")) <= 1_000


def test_each_mark_is_sent_once_but_for_those_that_span_two_chunks(site: Site, page: Page) -> None:
    site.add_page(attributes="data-duration=2500", after="setInterval(() => performance.mark('tick'), 50);")
    page.goto(site.url())
    wait_until(page, lambda: len(site.envelopes) >= 3)
    starts = [mark["start"] for mark in marks_of(site, "mark")]
    assert sorted(starts) == sorted(set(starts))


def test_marks_from_before_a_late_view_leave_it_its_room(site: Site, page: Page) -> None:
    # The first view is not drawn, so the second one is the first to watch, and hears of all marks since the load.
    after = """
    for (let n = 0; n < 1500; n += 1) performance.mark(`early${n}`);
    setTimeout(() => {
      Math.random = () => 0.1;
      document.body.click();
      history.pushState({}, '', '/late');
      performance.mark('late');
    }, 300);
    """
    site.add_page(attributes="data-rate=0.5", before="Math.random = () => 0.9;", after=after)
    page.goto(site.url())
    wait_until(page, lambda: len(site.envelopes) >= 2)
    assert [mark["name"] for mark in marks_of(site, "mark")] == ["late"]


FLOODS = {
    "marks": "performance.mark(`m${n}`)",
    "measures": "performance.measure(`m${n}`, {start: 1, end: 9})",
    "both": "(performance.mark(`m${n}`), performance.measure(`n${n}`, {start: 1, end: 9}))",
}


@pytest.mark.parametrize("flood", FLOODS)
def test_user_timings_crowd_out_nothing_that_the_browser_reports(site: Site, page: Page, flood: str) -> None:
    after = f"""
    {BUSY}
    for (let n = 0; n < 2500; n += 1) {FLOODS[flood]};
    document.body.innerHTML = '<p style="font-size:80px">A large text</p><button id=buy onclick=spin(120)>Buy</button>';
    setTimeout(() => spin(200), 600);
    """
    site.add_page(attributes="data-duration=4500", after=after)
    page.goto(site.url())
    page.wait_for_timeout(1_000)
    page.click("#buy")
    for kind in ("longtask", "long-animation-frame", "first-contentful-paint", "interaction"):
        wait_until(page, lambda kind=kind: marks_of(site, kind) != [])  # type: ignore[misc]  # a lambda's default
    assert marks_of(site, "largest-contentful-paint") != []
    assert max(mark["duration"] for mark in marks_of(site, "longtask")) >= 190


def test_the_marks_beyond_the_bounds_are_counted(site: Site, page: Page) -> None:
    site.add_page(attributes="data-duration=1900", after="for (let n = 0; n < 1700; n += 1) performance.mark(`m${n}`);")
    page.goto(site.url())
    wait_until(page, lambda: len(site.envelopes) >= 2)
    assert len(marks_of(site, "mark")) == 500
    assert {envelope["marksDropped"] for envelope in site.envelopes} == {1200}


def test_a_view_whose_marks_all_fit_does_not_speak_of_dropped_ones(site: Site, page: Page) -> None:
    site.add_page(after="for (let n = 0; n < 400; n += 1) performance.mark(`m${n}`);")
    page.goto(site.url())
    wait_until(page, lambda: len(marks_of(site, "mark")) == 400)
    assert not any("marksDropped" in envelope for envelope in site.envelopes)


def test_a_flood_of_layout_shifts_crowds_out_no_long_task(site: Site, page: Page) -> None:
    """The browser reports one for each frame that moves; here its entries are played."""
    before = """
    const real = PerformanceObserver;
    window.PerformanceObserver = class {
      static supportedEntryTypes = ['layout-shift', 'longtask'];
      constructor(run) { this.run = run; window.observer = this; }
      observe() {}
      takeRecords() { return []; }
    };
    """
    after = """
    const play = (entryType, count, startTime, duration) => observer.run({getEntries: () =>
      Array.from({length: count}, () => ({entryType, name: '', startTime, duration}))});
    play('layout-shift', 3000, 10, 0);
    play('longtask', 1, 20, 80);
    """
    site.add_page(before=before, after=after)
    page.goto(site.url())
    wait_until(page, lambda: marks_of(site, "longtask") != [])
    assert len(marks_of(site, "layout-shift")) == 1_000
    assert site.envelopes[0]["marksDropped"] == 2_000


def test_a_text_is_not_cut_within_a_character(site: Site, page: Page) -> None:
    site.add_page(after="for (const n of [198, 199, 200]) performance.mark('x'.repeat(n) + '\\u{1f600}\\u{1f600}');")
    page.goto(site.url())
    wait_until(page, lambda: len(marks_of(site, "mark")) == 3)
    names = [mark["name"] for mark in marks_of(site, "mark")]
    assert names == ["x" * 198 + "😀😀", "x" * 199 + "😀", "x" * 200]
