"""How figures are written and drawn: units, thin spaces, bars as SVG attributes (the policy forbids inline styles)."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from aggregate.selectors import FunctionRow, FunctionTable, OverviewRow
from aggregate.selectors.quality import MeasuredRow
from profcore.stats.estimates import Figure, Interval
from profcore.weights import TimeParts

register = template.Library()

THIN: Final = "\u202f"  # narrow, and no line breaks at it
SECONDS_FROM_US: Final = 10_000_000
BAR_UNITS: Final = 1_000
BAR_HEIGHT: Final = 100
DAY_WIDTH: Final = 10  # of which a bar takes eight
LEAST_DAYS: Final = 30  # so that a bar of a few days is no wall
# (field, word, what it means)
PARTS: Final = (
    ("js", "JS", "A stack was visible: the page’s functions ran."),
    (
        "hidden",
        "Hidden",
        "The main thread was busy, but no stack was visible: garbage collection, style, layout, paint, or JavaScript "
        "whose stack the browser dropped. It is in no function’s self or total.",
    ),
    ("idle", "Idle", "No stack, and no sign of work."),
    (
        "unobserved",
        "Unobserved",
        "A gap of more than ten sampling intervals, as in a suspended tab: what ran then, if anything, is not known.",
    ),
    ("profiler", "Profiler", "The cost of the profiler itself. It is left out of JS."),
)


@dataclass(frozen=True, slots=True)
class BarPart:
    """One part of a stacked bar: x and width in units of a thousandth of the whole."""

    key: str
    word: str
    meaning: str
    us: int
    share: float | None
    x: str
    width: str


def group_thousands(text: str) -> str:
    return text.replace(",", THIN)


@register.filter
def us_as_time(us: float | None) -> str:
    """Writes µs as `1 234.5 ms`, or as seconds above 10 000 ms."""
    if us is None:
        return "–"
    if us >= SECONDS_FROM_US:
        return group_thousands(f"{us / 1_000_000:,.1f}") + THIN + "s"
    return group_thousands(f"{us / 1_000:,.1f}") + THIN + "ms"


@register.filter
def ms_as_time(ms: float | None) -> str:
    """Writes ms the same way."""
    return us_as_time(None if ms is None else ms * 1_000)


@register.filter
def interval_as_time(figure: Figure | str | None) -> str:
    """Writes a figure's 95 % interval in ms, `12.3–14.5 ms`; nothing where the data bears none, or there is no figure.

    What a template does not find is an empty text.
    """
    if not isinstance(figure, Figure) or figure.ci95 is None:
        return ""
    low, high = (us_as_time(ms * 1_000) for ms in (figure.ci95.low, figure.ci95.high))
    unit = THIN + low.rpartition(THIN)[2]
    return f"{low.removesuffix(unit) if high.endswith(unit) else low}–{high}"


@register.filter
def relative_change(part: float) -> str:
    """Writes a relative difference in per cent with its sign."""
    return f"{'−' if part < 0 else '+'}{share(abs(part))}"


@register.filter
def interval_as_share(figure: Figure | str | None) -> str:
    """Writes a figure's 95 % interval in per cent."""
    if not isinstance(figure, Figure) or figure.ci95 is None:
        return ""
    return f"{share(figure.ci95.low)} to {share(figure.ci95.high)}"


@register.filter
def change_as_time(ms: float) -> str:
    """Writes a difference in ms with its sign."""
    return ("−" if ms < 0 else "+") + us_as_time(abs(ms) * 1_000)


@register.filter
def change_interval(interval: Interval) -> str:
    """Writes the interval of a difference in ms, `+0.5 ms to +12.0 ms`."""
    return f"{change_as_time(interval.low)} to {change_as_time(interval.high)}"


@register.filter
def q_value(q: float) -> str:
    """Writes a q-value; what is smaller than anyone needs to know is `< 0.001`."""
    return f"<{THIN}0.001" if q < 0.001 else f"{q:.3f}"


@register.filter
def q_equation(q: float) -> str:
    """Writes what follows a `q` or `p` in a sentence: `= 0.015`, or `< 0.001`."""
    return q_value(q) if q < 0.001 else f"= {q_value(q)}"


@register.filter
def share_in(row: FunctionRow, table: FunctionTable) -> float | None:
    """Returns a func's share of its table's JS time."""
    return table.self_share(row)


@register.filter
def per_view_in(row: FunctionRow, table: FunctionTable) -> float | None:
    """Returns a func's self time over all page views of its table, ms."""
    return table.self_ms_per_view(row)


@register.filter
def value_of(values: Mapping[int | str, object], key: int | str) -> object | None:
    """Returns what a mapping has for a key; a template cannot look one up by a variable."""
    return values.get(key)


@register.filter
def count(number: int) -> str:
    """Writes a whole number with thin spaces."""
    return group_thousands(f"{number:,}")


@register.filter
def roughly(number: int) -> str:
    """Writes an estimate of a whole number: three digits tell, the rest are zeros."""
    digits = len(str(number)) - 3
    return count(round(number, -digits) if digits > 0 else number)


@register.filter
def share(part: float | None) -> str:
    """Writes a part of one in per cent; what is there but rounds to nothing is `< 0.1 %`."""
    if part is None:
        return "–"
    if 0 < part < 0.0005:
        return f"<{THIN}0.1{THIN}%"
    return f"{part * 100:.1f}{THIN}%"


@register.filter
def one_decimal(number: float | None) -> str:
    """Writes a number with one decimal and thin spaces."""
    return "–" if number is None else group_thousands(f"{number:,.1f}")


@register.filter
def kilobytes(size: float | None) -> str:
    """Writes bytes as kB."""
    return "–" if size is None else f"{one_decimal(size / 1_000)}{THIN}kB"


@register.filter
def part_share(row: MeasuredRow, part: str) -> str:
    """Writes a part of the recorded time in per cent."""
    return share(row.share(part))


@register.filter
def per(us: int, views: int) -> float | None:
    """Returns µs for each of some views."""
    return us / views if views else None


@register.filter
def of(part: int, whole: int) -> float | None:
    """Returns what part of a whole it is, 0 to 1."""
    return part / whole if whole else None


@register.filter
def bar_width(part: float | None) -> str:
    """Returns the width of a bar for a part of one, in bar units, as an SVG attribute."""
    return f"{BAR_UNITS * min(1.0, max(0.0, part or 0.0)):.1f}"


@register.filter
def visible(text: str) -> str:
    """Makes control and direction characters visible: a name must not hide or reorder what stands around it.

    Markup is none of its business: templates escape.
    """
    return "".join(_picture(char) if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"} else char for char in text)


@register.filter
def listed(texts: Sequence[str]) -> str:
    """Joins texts by commas, made visible. The template's own `join` escapes too early, and so twice."""
    return ", ".join(visible(text) for text in texts)


def _picture(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"⟨U+{code:04X}⟩"


@register.filter
def moment(at: datetime) -> SafeString:
    """Writes a time in UTC, which times.js makes the reader's."""
    return _write_time(at, "data-local")


@register.filter
def ago(at: datetime | None) -> SafeString | str:
    """Writes a time in UTC, of which times.js makes how long ago it was: the page need not change for it."""
    return "never" if at is None else _write_time(at, "data-ago")


def _write_time(at: datetime, how: str) -> SafeString:
    utc = at.astimezone(UTC)
    return format_html(
        '<time datetime="{}" {}>{} UTC</time>', f"{utc:%Y-%m-%dT%H:%M:%SZ}", how, f"{utc:%Y-%m-%d %H:%M}"
    )


@register.filter
def time_parts(time: TimeParts) -> list[BarPart]:
    """Returns the parts of time as a stacked bar, those without time too: an absent part says something."""
    parts = []
    at = 0
    for key, word, meaning in PARTS:
        us = getattr(time, f"{key}_us")
        x, end = (_place(value, time.span_us) for value in (at, at + us))
        part = us / time.span_us if time.span_us else None
        parts.append(BarPart(key, word, meaning, us, part, f"{x:.1f}", f"{end - x:.1f}"))
        at += us
    return parts


@dataclass(frozen=True, slots=True)
class DayBar:
    """One day's JS and hidden time a view as a bar of two parts, in units of the highest of them; `x` is its place."""

    row: OverviewRow
    x: str
    js_y: str
    js_height: str
    hidden_y: str
    hidden_height: str


@register.filter
def day_bars(rows: Sequence[OverviewRow]) -> list[DayBar]:
    """Returns a bar for each day, each at its date: a day without views is a gap."""
    highest = max((_busy_us(row) / row.views for row in rows if row.views), default=0.0) or 1.0
    bars = []
    for row in rows:
        if row.day is None or rows[0].day is None or not row.views:
            continue
        js, hidden = (BAR_HEIGHT * us / row.views / highest for us in (row.time.js_us, row.time.hidden_us))
        x = DAY_WIDTH * (row.day - rows[0].day).days
        places = (BAR_HEIGHT - js, js, BAR_HEIGHT - js - hidden, hidden)
        bars.append(DayBar(row, str(x), *(f"{place:.1f}" for place in places)))
    return bars


@register.filter
def days_width(rows: Sequence[OverviewRow]) -> int:
    """Returns the width of the chart of days, from the first to the last, and at least that of some."""
    first, last = (rows[0].day, last_day(rows)) if rows else (None, None)
    days = (last - first).days + 1 if first and last else 1
    return DAY_WIDTH * max(days, LEAST_DAYS)


@register.filter
def last_day(rows: Sequence[OverviewRow]) -> date | None:
    """Returns the day of the last row."""
    return rows[-1].day if rows else None


def _busy_us(row: OverviewRow) -> int:
    return row.time.js_us + row.time.hidden_us


def _place(us: int, span_us: int) -> float:
    return BAR_UNITS * us / span_us if span_us else 0.0


@register.simple_tag
def page_parts() -> list[tuple[str, str, str]]:
    """Returns every part's key, word and meaning, for a legend."""
    return list(PARTS)
