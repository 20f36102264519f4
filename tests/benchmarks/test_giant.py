"""`benchmarks giant` compares one project with many, by rounds that followed each other."""

from benchmarks.ingest.giant import Round, describe_ratios, describe_round


def make_round(kind: str, *, is_giant: bool, fold_s: float) -> Round:
    processor_ms = {"web": 1.0, "worker": 0.5, "postgres": 0.75}
    return Round(kind=kind, is_giant=is_giant, traces=600, fold_s=fold_s, batches=4, processor_ms=processor_ms)


def test_the_ratio_is_the_median_of_rounds_that_followed_each_other() -> None:
    rounds = []
    for kind in ("live", "backlog"):
        for many_s, giant_s in ((1.0, 2.0), (4.0, 4.0), (3.0, 2.0)):
            rounds += [
                make_round(kind, is_giant=True, fold_s=giant_s),
                make_round(kind, is_giant=False, fold_s=many_s),
            ]
    assert list(describe_ratios(rounds))[1] == "backlog: one project folds 1.00 of what many do (0.50, 1.00, 1.50)"
    assert describe_round(rounds[-2]).startswith("backlog  one project   folded    300 traces/s in   4 batches")
