"""Uniform samples of views: deterministic, equal on every machine and in every release, and mergeable."""

from hashlib import sha256
from math import isqrt
from typing import Final
from uuid import UUID

LAST_KEY: Final = (1 << 63) - 1
# How far beyond the expected number of views a bound reaches, in standard deviations: fewer than wanted lie below it
# once in a thousand million slices.
SLACK: Final = 6


def sample_key(view_id: UUID) -> int:
    """Returns a view's place in the uniform order: the first 63 bits of its id's SHA-256, as the database has them.

    The `k` views of smallest key are a uniform sample of any slice (ids are chosen by browsers, hashes are not), and
    the k smallest of two slices' k smallest are those of their union.
    """
    return int.from_bytes(sha256(view_id.bytes).digest()[:8], "big") & LAST_KEY


def bound_of_sample(size: int, population: int) -> int:
    """Returns a key up to which at least `size` of so many views lie, but for bad luck that `SLACK` makes rare."""
    wanted = size + SLACK * (isqrt(size) + 1)
    return LAST_KEY if wanted >= population else LAST_KEY * wanted // population
