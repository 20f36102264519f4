"""Uniform samples of views: deterministic, the same on every machine and in every release, and mergeable."""

from hashlib import sha256
from math import isqrt
from typing import Final
from uuid import UUID

LAST_KEY: Final = (1 << 63) - 1
# How far a bound goes beyond the expected number of views, in standard deviations. Only in one of a thousand million
# slices do fewer views than wanted lie below it.
SLACK: Final = 6


def sample_key(view_id: UUID) -> int:
    """Returns a view's place in the uniform order: the first 63 bits of its id's SHA-256, as in the database.

    The `k` views with the smallest keys are a uniform sample of any slice (browsers choose ids, but not hashes). The
    k smallest of two slices' k smallest are those of their union.
    """
    return int.from_bytes(sha256(view_id.bytes).digest()[:8], "big") & LAST_KEY


def bound_of_sample(size: int, population: int) -> int:
    """Returns a key that at least `size` of `population` views do not exceed. `SLACK` makes exceptions rare."""
    wanted = size + SLACK * (isqrt(size) + 1)
    return LAST_KEY if wanted >= population else LAST_KEY * wanted // population
