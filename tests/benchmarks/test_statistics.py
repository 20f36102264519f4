"""The simulations of the statistics run, and their population is the recorded views."""

import numpy as np
import pytest

from benchmarks.statistics.coverage import list_coverage
from benchmarks.statistics.discoveries import list_discoveries
from benchmarks.statistics.peeking import list_peeking
from benchmarks.statistics.population import Change, draw, draw_pages, load_population
from benchmarks.statistics.tables import Table, run_table


def test_samples_are_like_the_recorded_views() -> None:
    pages = load_population()
    assert len(pages) == 10
    rng = np.random.default_rng(1)
    for page in pages[:3]:
        sample = draw(rng, page, 5_000)
        assert sample.columns.js_us.mean() == pytest.approx(page.js_us.mean(), rel=0.1)
        assert sample.self_us.sum() == pytest.approx(sample.columns.js_us.sum(), rel=0.001)
        func = page.heaviest(1)[0]
        slower = draw(rng, page, 5_000, change=Change(func, 2.0))
        assert slower.self_us.sum() == pytest.approx(slower.columns.js_us.sum(), rel=0.001)
        assert slower.columns.js_us.mean() > 1.05 * sample.columns.js_us.mean()


def test_mixes_can_be_moved() -> None:
    pages = load_population()
    rng = np.random.default_rng(2)
    page = pages[0]
    usual, slow, rated = (
        draw(rng, page, 4_000),
        draw(rng, page, 4_000, slow=0.2),
        draw(rng, page, 4_000, rates=(0.1, 1)),
    )
    shares = [np.mean(sample.columns.device == page.device.max()) for sample in (usual, slow)]
    assert shares[1] - shares[0] == pytest.approx(0.2, abs=0.04)
    assert set(rated.columns.sample_rate) == {0.1, 1.0}
    assert set(rated.columns.device[rated.columns.sample_rate < 1]) == {1}
    both = draw_pages(rng, pages[:2], [0.7, 0.3], 4_000)
    counts = sorted(np.unique(both.columns.page, return_counts=True)[1].tolist())
    assert counts[1] / 4_000 == pytest.approx(0.7, abs=0.03)


@pytest.mark.nightly
@pytest.mark.slow(20)
def test_every_table_is_computed() -> None:
    tables = [*list_coverage(2), *list_discoveries(2), *list_peeking(10)]
    assert len(tables) == 6
    for table in tables:
        few = Table(title=table.title, head=table.head, rows=table.rows[:2])
        lines = run_table(few).splitlines()
        assert len(lines) == 2 + 2 + len(few.rows)
        assert {line.count("|") for line in lines[2:]} == {len(table.head) + 1}
