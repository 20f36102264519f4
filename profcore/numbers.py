"""Times and shares as text, by the same rules as `static/dashboard/flame/words.js`. Pure: numbers in, text out.

A person reads three digits and one unit: `41 ms`, `1.30 s`, `2 min 5 s`. The API has the unrounded numbers.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Final

THIN: Final = "\u202f"  # narrow, and no line breaks at it
MINUS: Final = "\u2212"
LEAST_MS: Final = 0.05  # less than this rounds to nothing
MS_PER_S: Final = 1_000
MAX_HOURS: Final = 100  # from here on minutes say nothing
DIGITS: Final = 3  # what a person reads of a number


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit of a column: its word, its size in ms, and how many decimals a small value has at most."""

    word: str
    ms: int
    decimals: int


MILLISECONDS: Final = Unit("ms", 1, 1)
# Each with the time from which on a column has it, ms: 600 s are still read at once, and so are 600 min.
LARGER_UNITS: Final = (
    (36_000_000.0, Unit("h", 3_600_000, 2)),
    (600_000.0, Unit("min", 60_000, 2)),
    (999.5, Unit("s", 1_000, 3)),
)


def group_thousands(text: str) -> str:
    """Returns a number whose commas are thin spaces."""
    return text.replace(",", THIN)


def write_ms(ms: float) -> str:
    """Returns a time in ms as text. What is more than nothing and rounds to it is `< 0.1 ms`."""
    if ms < 0:
        return write_ms(0.0) if ms > -LEAST_MS else MINUS + write_ms(-ms)
    if 0 < ms < LEAST_MS:
        return f"<{THIN}0.1{THIN}ms"
    tenths = _round(ms * 10)
    if tenths < 1_000:
        return f"{tenths // 10}{THIN}ms" if tenths % 10 == 0 else f"{tenths / 10:.1f}{THIN}ms"
    if _round(ms) < MS_PER_S:
        return f"{_round(ms)}{THIN}ms"
    return _write_seconds(ms / MS_PER_S)


def _write_seconds(seconds: float) -> str:
    if _round(seconds * 100) < 1_000:
        return f"{_round(seconds * 100) / 100:.2f}{THIN}s"
    if _round(seconds * 10) < 600:
        return f"{_round(seconds * 10) / 10:.1f}{THIN}s"
    if _round(seconds) < 3_600:
        return _write_pair(_round(seconds), "min", "s")
    hours = _round(seconds / 3_600)
    if hours < MAX_HOURS:
        return _write_pair(_round(seconds / 60), "h", "min")
    return group_thousands(f"{hours:,}") + f"{THIN}h"


def _write_pair(count: int, large: str, small: str) -> str:
    """Returns `2 min 5 s` for 125 of the small unit, and `2 min` for 120."""
    whole, rest = divmod(count, 60)
    return f"{whole}{THIN}{large}" + (f"{THIN}{rest}{THIN}{small}" if rest else "")


def write_change(ms: float) -> str:
    """Returns a difference in ms with its sign; what rounds to nothing is `±0 ms`."""
    if abs(ms) < LEAST_MS:
        return f"±{write_ms(0)}"
    return ("+" if ms > 0 else MINUS) + write_ms(abs(ms))


def write_interval(low: float, high: float) -> str:
    """Returns an interval in ms, `12.3 to 14.5 ms`: with its unit once where both ends have the same."""
    first, last = write_ms(low), write_ms(high)
    unit = THIN + last.rpartition(THIN)[2]
    is_shared = first.endswith(unit) and all(text.removeprefix("<" + THIN).count(THIN) == 1 for text in (first, last))
    return f"{first.removesuffix(unit) if is_shared else first} to {last}"


def choose_unit(values_ms: Iterable[float]) -> Unit:
    """Returns the unit of a column of times in ms: that of its largest value, so that all compare at a glance."""
    largest = max((abs(ms) for ms in values_ms), default=0.0)
    return next((unit for least, unit in LARGER_UNITS if largest >= least), MILLISECONDS)


def write_in(ms: float, unit: Unit) -> str:
    """Returns a time in ms as text in the unit of its column, `0.891 s`, with up to three digits.

    What is more than nothing and rounds to it is `< 0.001 s`.
    """
    if ms < 0:
        return write_in(0.0, unit) if _is_nothing(ms, unit) else MINUS + write_in(-ms, unit)
    if ms > 0 and _is_nothing(ms, unit):
        return f"<{THIN}{10**-unit.decimals:.{unit.decimals}f}{THIN}{unit.word}"
    number = ms / unit.ms
    decimals = min(unit.decimals, max(0, DIGITS - 1 - floor(log10(number)))) if number else 0
    if _round(number * 10**decimals) >= 10**DIGITS and decimals:  # 9.996 is 10.0, and not 10.00
        decimals -= 1
    rounded = _round(number * 10**decimals) / 10**decimals
    if unit is MILLISECONDS and rounded == floor(rounded):
        decimals = 0
    return group_thousands(f"{rounded:,.{decimals}f}") + THIN + unit.word


def write_change_in(ms: float, unit: Unit) -> str:
    """Returns a difference in ms with its sign, in the unit of its column; what rounds to nothing is `±0 s`."""
    if _is_nothing(ms, unit):
        return f"±{write_in(0.0, unit)}"
    return ("+" if ms > 0 else MINUS) + write_in(abs(ms), unit)


def write_interval_in(low: float, high: float, unit: Unit) -> str:
    """Returns an interval in ms in the unit of its column, which stands once: `0.123 to 0.729 s`."""
    return f"{write_in(low, unit).removesuffix(THIN + unit.word)} to {write_in(high, unit)}"


def _is_nothing(ms: float, unit: Unit) -> bool:
    return _round(abs(ms) / unit.ms * 10**unit.decimals) == 0


def write_scale(values_ms: Sequence[float]) -> list[str]:
    """Returns the marks of an axis: all in one unit, that of the highest, without zeros at their ends."""
    is_seconds = max((abs(ms) for ms in values_ms), default=0.0) >= MS_PER_S
    divisor, unit = (MS_PER_S, "s") if is_seconds else (1, "ms")
    return ["0" if ms == 0 else _write_mark(ms / divisor) + THIN + unit for ms in values_ms]


def _write_mark(number: float) -> str:
    text = group_thousands(f"{abs(number):,.6f}").rstrip("0").rstrip(".")
    return MINUS + text if number < 0 else text


def write_count(count: float) -> str:
    """Returns a whole number with its thousands grouped."""
    return group_thousands(f"{count:,.0f}")


def write_share(part: float) -> str:
    """Returns a part of one in per cent; what is more than nothing and rounds to it is `< 0.1 %`."""
    if part < 0:
        return MINUS + write_share(-part)
    if 0 < part < 0.0005:
        return f"<{THIN}0.1{THIN}%"
    tenths = _round(part * 1_000)
    if tenths < 1_000:
        return f"{tenths / 10:.1f}{THIN}%"
    return group_thousands(f"{_round(part * 100):,}") + f"{THIN}%"


def _round(number: float) -> int:
    """Rounds half up, as the script does: Python's own rounding and JavaScript's differ."""
    return floor(number + 0.5)
