"""Views of one hour or day that are alike say less: the inflation of the rank statistic."""

from dataclasses import replace

import numpy as np
import pytest

from profcore.stats.verdict.blocks import BlockRows, Inflation, find_inflation

BLOCKS = 100


def rows_of(rng: np.random.Generator, *, size: int, sigma: float) -> BlockRows:
    """Returns views in blocks of a size on each side, whose blocks have a factor with a sigma in common."""
    block = np.repeat(np.arange(2 * BLOCKS), size)
    own = rng.lognormal(0.0, 0.5, block.size)
    shared = np.exp(rng.normal(0.0, sigma, 2 * BLOCKS)) if sigma else np.ones(2 * BLOCKS)
    return BlockRows(
        value=own * shared[block],
        stratum=np.zeros(block.size, dtype=np.int64),
        is_head=(block >= BLOCKS).astype(np.int64),
        hour=block,
        session=np.zeros_like(block),
    )


def inflate(rows: BlockRows) -> Inflation | None:
    return find_inflation(rows, rows.visits)


def test_independent_views_are_not_inflated() -> None:
    rng = np.random.default_rng(1)
    factors = [inflation.factor for _ in range(50) if (inflation := inflate(rows_of(rng, size=5, sigma=0.0)))]
    assert np.mean(factors) == pytest.approx(1.0, abs=0.05)


def test_views_that_are_alike_are_inflated_by_their_design_effect() -> None:
    # Within a block views correlate by 0.4² / (0.4² + 0.5²): ten of them are worth 1 / (1 + 9 · 0.39) each.
    rng = np.random.default_rng(2)
    factors = [inflation.factor for _ in range(50) if (inflation := inflate(rows_of(rng, size=10, sigma=0.4)))]
    assert np.mean(factors) == pytest.approx(1 + 9 * 0.16 / 0.41, rel=0.1)


def test_an_unchanged_release_of_sessions_keeps_its_error() -> None:
    rng = np.random.default_rng(3)
    wrong = {"plain": 0, "blocks": 0}
    for _ in range(300):
        rows = rows_of(rng, size=10, sigma=0.4)
        order = rows.value.argsort().argsort()
        count = rows.value.size / 2
        z = (order[rows.is_head == 1].mean() - order[rows.is_head == 0].mean()) / np.sqrt(
            (2 * count) ** 2 / 12 * 2 / count
        )
        inflation = inflate(rows)
        assert inflation is not None
        wrong["plain"] += abs(z) > 1.96
        wrong["blocks"] += inflation.p_of(float(z)) < 0.05
    assert wrong["plain"] > 60
    assert wrong["blocks"] < 30


def test_a_side_with_few_blocks_takes_the_inflation_of_the_other() -> None:
    rng = np.random.default_rng(4)
    rows = rows_of(rng, size=10, sigma=0.4)
    inflation = find_inflation(rows, np.where(rows.is_head == 1, 10_000, rows.hour))
    assert inflation is not None
    assert inflation.factor > 2


def test_views_of_one_block_alone_say_nothing_about_blocks() -> None:
    rows = rows_of(np.random.default_rng(5), size=10, sigma=0.4)
    assert find_inflation(rows, np.zeros_like(rows.hour)) is None


@pytest.mark.parametrize(("named", "is_known"), [(0.6, True), (0.4, False)])
def test_sessions_are_the_blocks_where_most_views_of_each_side_have_one(named: float, is_known: bool) -> None:
    rng = np.random.default_rng(6)
    rows = rows_of(rng, size=10, sigma=0.4)
    has_one = (rows.is_head == 0) | (rng.random(rows.value.size) < named)
    # All visitors of a side come in one hour, and each has a session.
    rows = replace(rows, hour=rows.is_head + 1, session=np.where(has_one, rows.hour + 1_000, 0))
    blocks = np.unique(rows.visits).size
    assert blocks == (2 * BLOCKS + 1 if is_known else 2)
    inflation = inflate(rows)
    assert (inflation is not None and inflation.factor > 2) is is_known
