"""The few distributions that the statistics use, from the compiled functions of `scipy.special` only.

`scipy.stats` would give the same numbers, but loading it takes a second of processor time and 40 MB in every process.
"""

import numpy as np
import numpy.typing as npt

from profcore.special import special

Floats = npt.NDArray[np.float64]


def normal_tail(z: Floats) -> Floats:
    """Returns the probability that a standard normal variable is above each `z`."""
    return np.asarray(special.ndtr(-np.asarray(z)), dtype=np.float64)


def normal_quantile(tail: float) -> float:
    """Returns the `z` that a standard normal variable exceeds with the probability `tail`."""
    return -float(special.ndtri(tail))


def t_quantile(tail: float, degrees: Floats | float) -> Floats:
    """Returns the values that Student's t exceeds with the probability `tail`; NaN without degrees of freedom."""
    freedom = np.asarray(degrees, dtype=np.float64)
    return np.asarray(-special.stdtrit(np.where(freedom > 0, freedom, np.nan), tail), dtype=np.float64)


def binomial_quantile(chance: float, count: int, share: float) -> int:
    """Returns the smallest number of hits that `count` trials do not exceed with at least the probability `chance`."""
    most = max(int(np.ceil(special.bdtrik(chance, count, share))), 0)
    # The inverse is not exact at whole numbers, so the number below may be enough.
    return most - 1 if most > 0 and special.bdtr(most - 1, count, share) >= chance else most


def control_false_discoveries(p: npt.ArrayLike, weight: npt.ArrayLike | None = None) -> Floats:
    """Returns a q for each p: the share of false discoveries if it and all smaller ones are called significant.

    Benjamini and Hochberg, Controlling the false discovery rate, J. R. Statist. Soc. B 57, 1995. With weights, which
    are normed to the mean 1, each p is divided by its own (Genovese, Roeder and Wasserman, Biometrika 93, 2006): a
    greater weight makes a discovery easier, and all others harder. Weights must not depend on which views are on which
    side.
    """
    values = np.asarray(p, dtype=np.float64)
    if weight is not None and values.size:
        weights = np.asarray(weight, dtype=np.float64)
        shares = weights / weights.mean() if weights.any() else np.ones_like(weights)
        values = np.where(shares > 0, values / np.where(shares > 0, shares, 1.0), np.inf)
    order = np.argsort(values)
    raised = values[order] * (values.size / np.arange(1, values.size + 1))
    q = np.empty_like(values)
    q[order] = np.minimum.accumulate(raised[::-1])[::-1]
    return np.clip(q, 0.0, 1.0)
