"""The table of estimates and what the field measured, and how well they agree."""

from collections.abc import Iterator, Sequence
from statistics import median, quantiles

from bench.lab.foretelling import Foretold, Outcome
from bench.lab.shop import WORDS


def describe_outcome(outcome: Outcome) -> Iterator[str]:
    """Yields a row for each estimate, then a row for each kind of change, and all together."""
    yield "| release | function | on | lab, ms | estimate, ms per view | measured | measured/estimate |"
    yield "|---|---|---|---:|---:|---:|---:|"
    for each in outcome.foretold:
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
        yield from _sum_up(words, [each for each in outcome.foretold if each.kind == kind])
    yield from _sum_up("nothing: the lab was wrong", [each for each in outcome.foretold if not each.kind])
    yield from _sum_up("all", outcome.foretold)
    yield ""
    yield f"changed, and not seen by the lab: {', '.join(outcome.missed) or 'none'}"
    yield from outcome.agreements


def _write(ms: float | None, interval: tuple[float, float] | None) -> str:
    if ms is None:
        return "–"
    return f"{ms:+.0f} ({interval[0]:.0f} to {interval[1]:.0f})" if interval else f"{ms:+.0f}"


def _write_ratio(each: Foretold) -> str:
    ratio = find_ratio(each)
    return "–" if ratio is None else f"{ratio:.2f}"


def find_ratio(each: Foretold) -> float | None:
    """Returns by how many times the estimate the field changed."""
    return each.measured / each.estimate if each.estimate and each.measured is not None else None


def is_held(each: Foretold) -> bool:
    """Tells whether the interval of the estimate has the measured change."""
    return each.ci95 is not None and each.measured is not None and each.ci95[0] <= each.measured <= each.ci95[1]


def _sum_up(words: str, rows: Sequence[Foretold]) -> Iterator[str]:
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
