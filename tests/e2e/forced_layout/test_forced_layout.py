"""Whom we blame for forced layout, next to what Chromium's own trace says of the same visits."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser

from tests.e2e.browser import CHROMIUM_FLAGS, find_chromium
from tests.e2e.forced_layout.pages import WORKS, Forcing, visit
from tests.snippet_site import IngestServer, serve

pytestmark = [pytest.mark.e2e, pytest.mark.slow(10)]
Visit = Callable[[str], Forcing]
# What an origin trial gives to pages: samples with markers.
MARKERS = "--enable-blink-features=ExperimentalJSProfilerMarkers"


@contextmanager
def visiting(browser: Browser) -> Iterator[Visit]:
    pages: dict[str, tuple[str, dict[str, str]]] = {}
    endpoint = IngestServer()
    with serve(pages, endpoint) as port:
        yield lambda work: visit(browser, endpoint, pages, port, work)


def first_of(times_ms: Mapping[str, float]) -> str | None:
    return max(times_ms, key=lambda name: times_ms[name], default=None)


def check(forcing: Forcing, work: str) -> None:
    truth_ms, self_ms = forcing.truth_ms, forcing.self_ms
    found = {name: round(ms, 1) for name, ms in self_ms.items() if ms > 1}
    print(f"{work}: truth { ({name: round(ms, 1) for name, ms in truth_ms.items()}) } ms, ours {found} ms")
    if work == "none":
        assert (truth_ms, forcing.forced.total_us) == ({}, 0)
        return
    print(f"  error {forcing.error:.1%}")
    assert first_of(self_ms) == first_of(truth_ms)
    if not forcing.forced.is_measured:  # then it is the browser's own sum
        assert forcing.forced.total_us / 1_000 == pytest.approx(sum(truth_ms.values()), rel=0.15)


def test_what_forces_layout_comes_first_among_functions_that_compute_longer(chromium: Browser) -> None:
    with visiting(chromium) as visit_page:
        forcing = visit_page("a helper of two")
    check(forcing, "a helper of two")
    assert not forcing.forced.is_measured
    assert forcing.error < 0.35  # 0.02 to 0.1 on a quiet machine
    assert forcing.total_ms["tip"] > forcing.total_ms["menu"] > 0  # its callers


@pytest.mark.nightly
@pytest.mark.parametrize("work", WORKS)
def test_all_kinds_of_pages(chromium: Browser, work: str) -> None:
    with visiting(chromium) as visit_page:
        check(visit_page(work), work)


@pytest.mark.nightly
def test_markers_measure_it(chromium: Browser) -> None:
    browser = chromium.browser_type.launch(
        executable_path=find_chromium(), chromium_sandbox=os.geteuid() != 0, args=[*CHROMIUM_FLAGS, MARKERS]
    )
    try:
        with visiting(browser) as visit_page:
            for work in WORKS:
                forcing = visit_page(work)
                check(forcing, work)
                assert forcing.forced.is_measured
                # The marker is there too while the browser finds that a style is not stale, which its trace leaves out.
                assert work in ("none", "style only") or forcing.error < 0.2
    finally:
        browser.close()
