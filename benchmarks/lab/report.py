"""The table of estimates and what the field measured, and how well they agree."""

from collections.abc import Iterator, Sequence
from statistics import median, quantiles

from benchmarks.lab.prediction import Outcome, Prediction
from tests.packages.lab.shop import WORDS


def describe_outcome(outcome: Outcome) -> Iterator[str]:
    """Yields a row for each estimate, then a row for each kind of change, and all together."""
    yield "| release | function | on | lab, ms | estimate, ms per view | measured | measured/estimate |"
    yield "|---|---|---|---:|---:|---:|---:|"
    for each in outcome.predictions:
        yield (
            f"| {each.release} | {each.function}{'' if each.kind else ' (not changed)'} | {each.side} "
            f"| {each.lab[0]:.0f} → {each.lab[1]:.0f} | {_write(each.estimate, each.ci95)} "
            f"| {_write(each.measured, each.measured_ci95)} | {_write_ratio(each)} |"
        )
    yield ""
    yield "| what changed | estimates | same direction | measured/estimate: median | middle half | interval holds it |"
    yield "|---|---:|---:|---:|---:|---:|"
    kinds = dict(WORDS)
    for kind, words in kinds.items():
        yield from _sum_up(words, [each for each in outcome.predictions if each.kind == kind])
    yield from _sum_up("nothing: the lab was wrong", [each for each in outcome.predictions if not each.kind])
    yield from _sum_up("all", outcome.predictions)
    yield ""
    yield f"changed, and not seen by the lab: {', '.join(outcome.missed) or 'none'}"


def _write(ms: float | None, interval: tuple[float, float] | None) -> str:
    if ms is None:
        return "–"
    return f"{ms:+.0f} ({interval[0]:.0f} to {interval[1]:.0f})" if interval else f"{ms:+.0f}"


def _write_ratio(each: Prediction) -> str:
    ratio = find_ratio(each)
    return "–" if ratio is None else f"{ratio:.2f}"


def find_ratio(each: Prediction) -> float | None:
    """Returns by how many times the estimate the field changed."""
    return each.measured / each.estimate if each.estimate and each.measured is not None else None


def is_held(each: Prediction) -> bool:
    """Tells whether the interval of the estimate has the measured change."""
    return each.ci95 is not None and each.measured is not None and each.ci95[0] <= each.measured <= each.ci95[1]


def _sum_up(words: str, rows: Sequence[Prediction]) -> Iterator[str]:
    known = [(each, ratio) for each in rows if (ratio := find_ratio(each)) is not None]
    if not known:
        return
    ratios = [ratio for _, ratio in known]
    half = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    same, held = sum(ratio > 0 for ratio in ratios), sum(is_held(each) for each, _ in known)
    yield (
        f"| {words} | {len(known)} | {same} | {median(ratios):.2f} | {half[0]:.2f} to {half[2]:.2f} "
        f"| {held} of {len(known)} |"
    )
