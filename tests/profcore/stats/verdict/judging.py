"""Pages of generated views with some functions, and the judgement on them."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from profcore.stats.comparison import compare
from profcore.stats.verdict.family import PageSides, read_page
from profcore.stats.verdict.incidents import Code
from profcore.stats.verdict.judgement import Judgement, judge
from profcore.stats.views import ViewSample, sample_of_times
from tests.profcore.stats.field import Matrix, sample_of_ms

FUNCS = 12
VIEWS = 200


def draw(rng: np.random.Generator, views: int = VIEWS, *, size: float = 40.0) -> Matrix:
    """Returns views of a page: a time of its own for each view, of which each function takes a part."""
    whole = rng.lognormal(np.log(size), 0.4, (views, 1))
    return np.asarray(whole * rng.lognormal(0.0, 0.3, (views, FUNCS)))


def with_hours(sample: ViewSample, week: int) -> ViewSample:
    """Returns a sample with its views in the hours of a week, from 0 on."""
    hours = (week + np.arange(sample.views) / max(sample.views, 1)) * 7 * 24 // 1
    columns = sample.columns
    object.__setattr__(columns, "hour", hours.astype(np.int64))
    return sample


def hide(sample: ViewSample, part: npt.ArrayLike) -> ViewSample:
    """Returns a sample of which a part of each function's time was not seen: of all alike, or of each by its number."""
    hidden_us = np.rint(sample.self_us * np.broadcast_to(part, sample.func_count)[sample.func]).astype(np.int64)
    return replace(sample, self_us=sample.self_us - hidden_us, hidden_us=hidden_us)


def judge_pages(
    pages: dict[str, tuple[Matrix, Matrix]],
    code: Code | None = None,
    bound: float = 0.05,
    hidden: npt.ArrayLike = 0.0,
    device: Sequence[int] | None = None,
    followed: Sequence[int] = (),
) -> Judgement:
    """Returns the judgement on pages, of whose functions a part is hidden, with the first as all pages together.

    The head's views are a week later than those of the base.
    """
    samples = {
        page: tuple(
            with_hours(hide(sample_of_ms(side, device_class=device), hidden), week) for week, side in enumerate(pair)
        )
        for page, pair in pages.items()
    }
    comparisons = {page: compare(*(sample_of_times(side.columns) for side in pair)) for page, pair in samples.items()}
    read = (read_page(page, *pair) for page, pair in samples.items())
    sides: list[PageSides] = [page for page in read if page is not None]
    return judge(next(iter(comparisons.values())), comparisons, sides=sides, code=code, followed=followed, bound=bound)
