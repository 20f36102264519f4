"""Times and shares as text, by the same rules as `static/dashboard/flame/words.js`. Pure: numbers in, text out.

A person reads three digits and one unit: `41 ms`, `1.30 s`, `2 min 5 s`. The API has the unrounded numbers.
"""

from collections.abc import Sequence
from math import floor
from typing import Final

THIN: Final = "\u202f"  # narrow, and no line breaks at it
MINUS: Final = "\u2212"
LEAST_MS: Final = 0.05  # less than this rounds to nothing
MS_PER_S: Final = 1_000
MAX_HOURS: Final = 100  # from here on minutes say nothing


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


def write_scale(values_ms: Sequence[float]) -> list[str]:
    """Returns the marks of an axis: all in one unit, that of the highest, without zeros at their ends."""
    is_seconds = max((abs(ms) for ms in values_ms), default=0.0) >= MS_PER_S
    divisor, unit = (MS_PER_S, "s") if is_seconds else (1, "ms")
    return ["0" if ms == 0 else _write_mark(ms / divisor) + THIN + unit for ms in values_ms]


def _write_mark(number: float) -> str:
    text = group_thousands(f"{abs(number):,.6f}").rstrip("0").rstrip(".")
    return MINUS + text if number < 0 else text


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
