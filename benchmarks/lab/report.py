"""The table of estimates and what the field measured, and how well they agree."""

from collections.abc import Iterator, Sequence
from statistics import median, quantiles

from benchmarks.lab.prediction import Outcome, Prediction
from tests.packages.lab.shop import WORDS


def describe_outcome(outcome: Outcome) -> Iterator[str]:
    """Yields a row for each estimate, then a row for each kind of change, and all together."""
    yield "| release | function | on | lab, ms | estimate, ms per view | measured | measured/estimate |"
    yield "|---|---|---|---:|---:|---:|---:|"
    for prediction in outcome.predictions:
        yield (
            f"| {prediction.release} | {prediction.function}{'' if prediction.kind else ' (not changed)'} "
            f"| {prediction.side} "
            f"| {prediction.lab[0]:.0f} → {prediction.lab[1]:.0f} | {_write(prediction.estimate, prediction.ci95)} "
            f"| {_write(prediction.measured, prediction.measured_ci95)} | {_write_ratio(prediction)} |"
        )
    yield ""
    yield "| what changed | estimates | same direction | measured/estimate: median | middle half | interval holds it |"
    yield "|---|---:|---:|---:|---:|---:|"
    kinds = dict(WORDS)
    for kind, label in kinds.items():
        yield from _sum_up(label, [prediction for prediction in outcome.predictions if prediction.kind == kind])
    yield from _sum_up(
        "nothing: the lab was wrong", [prediction for prediction in outcome.predictions if not prediction.kind]
    )
    yield from _sum_up("all", outcome.predictions)
    yield ""
    yield f"changed, and not seen by the lab: {', '.join(outcome.missed) or 'none'}"


def _write(ms: float | None, interval: tuple[float, float] | None) -> str:
    if ms is None:
        return "–"
    return f"{ms:+.0f} ({interval[0]:.0f} to {interval[1]:.0f})" if interval else f"{ms:+.0f}"


def _write_ratio(prediction: Prediction) -> str:
    ratio = find_ratio(prediction)
    return "–" if ratio is None else f"{ratio:.2f}"


def find_ratio(prediction: Prediction) -> float | None:
    """Returns by how many times the estimate the field changed."""
    return (
        prediction.measured / prediction.estimate if prediction.estimate and prediction.measured is not None else None
    )


def is_held(prediction: Prediction) -> bool:
    """Tells whether the interval of the estimate has the measured change."""
    return (
        prediction.ci95 is not None
        and prediction.measured is not None
        and prediction.ci95[0] <= prediction.measured <= prediction.ci95[1]
    )


def _sum_up(label: str, rows: Sequence[Prediction]) -> Iterator[str]:
    known = [(row, ratio) for row in rows if (ratio := find_ratio(row)) is not None]
    if not known:
        return
    ratios = [ratio for _, ratio in known]
    half = quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    same, held = sum(ratio > 0 for ratio in ratios), sum(is_held(row) for row, _ in known)
    yield (
        f"| {label} | {len(known)} | {same} | {median(ratios):.2f} | {half[0]:.2f} to {half[2]:.2f} "
        f"| {held} of {len(known)} |"
    )
