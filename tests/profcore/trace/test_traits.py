"""The traits of a view, and the hash of its session."""

from datetime import date

import pytest

from profcore.trace.dimensions import VERSIONS, code_traits, hash_session

FRONT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
MONDAY = date(2026, 11, 23)


@pytest.mark.parametrize(
    ("agent", "version"),
    [
        (f"{FRONT}Chrome/131.0.0.0 Safari/537.36", 131),
        (f"{FRONT}Chrome/131.0.0.0 Safari/537.36 OPR/117.0.0.0", 131),  # Opera names the version of its engine too
        (f"{FRONT}HeadlessChrome/99.0.4844.51 Safari/537.36", 99),
        (f"{FRONT}Chromium/1023.0.0.0 Safari/537.36", 1_023),
        (f"{FRONT}Chrome/1024.0.0.0 Safari/537.36", 0),
        (f"{FRONT}Chrome/99999.0.0.0 Safari/537.36", 0),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) Version/18.1 Mobile/15E148 Safari/604.1", 0),
        ("", 0),
    ],
)
def test_the_version_is_that_of_the_engine(agent: str, version: int) -> None:
    assert code_traits(agent, 10.0) == version


@pytest.mark.parametrize(("interval_ms", "is_long"), [(10.0, 0), (12.9, 0), (15.6, 1), (16.0, 1), (100.0, 1)])
def test_long_ticks_come_behind_all_versions(interval_ms: float, is_long: int) -> None:
    assert code_traits(f"{FRONT}Chrome/131.0.0.0", interval_ms) == is_long * VERSIONS + 131


def test_a_session_has_one_hash_a_project_and_day() -> None:
    kept = hash_session("a1", 7, MONDAY)
    others = [hash_session("a2", 7, MONDAY), hash_session("a1", 8, MONDAY), hash_session("a1", 7, date(2026, 11, 24))]
    assert hash_session("a1", 7, MONDAY) == kept
    assert kept not in others
    assert all(-(2**63) <= code < 2**63 for code in (kept, *others))
