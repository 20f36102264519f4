"""Template filters that write and draw figures: units, bars as SVG attributes (the policy forbids inline styles)."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from aggregate.selectors.functions.table import FunctionRow, FunctionTable
from aggregate.selectors.project.overview import OverviewRow
from aggregate.selectors.project.quality import MeasuredRow
from alerts.channels import mask_addresses
from profcore.numbers import (
    THIN,
    Unit,
    choose_unit,
    group_thousands,
    write_in,
    write_interval,
    write_interval_in,
    write_ms,
    write_share,
)
from profcore.stats.estimates import Figure
from profcore.trace.weights import TimeParts

register = template.Library()

US_PER_MS: Final = 1_000
BAR_UNITS: Final = 1_000
BAR_HEIGHT: Final = 100
DAY_WIDTH: Final = 10  # of which a bar takes eight
LEAST_DAYS: Final = 30  # so that a bar of a few days is no wall
# (field, word, what it means)
PARTS: Final = (
    ("js", "Script", "Script time: a stack was visible, so the page’s functions ran."),
    (
        "hidden",
        "Hidden",
        "Hidden time: the main thread was busy without a visible stack, as in garbage collection or script whose stack "
        "was dropped, and in layout and paint if the browser reported no long animation frames.",
    ),
    (
        "engine",
        "Engine",
        "Engine time: the main thread was busy outside all scripts, as in style, layout, paint and parsing. At least "
        "this much: browsers do not report tasks under 50 ms.",
    ),
    ("idle", "Idle", "Idle time: there was no stack and no sign of work."),
    (
        "unobserved",
        "Unobserved",
        "Unobserved time: the browser took no sample for more than ten intervals, as in a suspended tab.",
    ),
    (
        "profiler",
        "Profiler",
        "Profiler time: our own cost, of the browser’s profiler and of the snippet. It is in no function, "
        "comparison or alert.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BarPart:
    """One part of a stacked bar: x and width in units of a thousandth of the whole."""

    key: str
    word: str
    meaning: str
    us: int
    share: float | None
    x: str
    width: str


@register.filter
def us_as_time(us: float | None) -> str:
    """Returns µs as text, `41 ms` or `1.30 s`; a dash if the time is not known."""
    return "–" if us is None else write_ms(us / US_PER_MS)


@register.filter
def ms_as_time(ms: float | None) -> str:
    """Returns ms as text, `41 ms` or `1.30 s`; a dash if the time is not known."""
    return "–" if ms is None else write_ms(ms)


@register.filter
def interval_as_time(figure: Figure | str | None) -> str:
    """Returns a figure's 95 % interval, `12.3 to 14.5 ms`; an empty text if there is no interval.

    A figure that a template does not find is an empty text.
    """
    if not isinstance(figure, Figure) or figure.ci95 is None:
        return ""
    return write_interval(figure.ci95.low, figure.ci95.high)


@register.simple_tag
def unit_of(rows: Iterable[object], path: str) -> Unit:
    """Returns the one unit of a column: `{% unit_of rows "row.self_us" as unit %}`.

    `path` names the column's value in a row. Values are ms, or µs if the path ends in `_us`; rows without one are
    passed over. The interval of a change (`delta_ms`) or a figure (`value`) stands below it, so its ends count too.
    """
    scale = US_PER_MS if path.endswith("_us") else 1
    above, _, name = path.rpartition(".")
    paths = [path]
    if name in ("delta_ms", "value"):
        paths += [f"{above}.ci95.{end}".removeprefix(".") for end in ("low", "high")]
    numbers = [_find(row, part) for row in rows for part in paths]
    return choose_unit(value / scale for value in numbers if isinstance(value, int | float))


def _find(row: object, path: str) -> object:
    """Returns what a dotted path leads to, by attributes, keys and places, or None."""
    for name in path.split("."):
        if isinstance(row, Mapping):
            row = row.get(name)
        elif name.isdigit() and isinstance(row, Sequence):
            row = row[int(name)] if int(name) < len(row) else None
        else:
            row = getattr(row, name, None)
    return row


@register.filter
def ms_in(ms: float | None, unit: Unit) -> str:
    """Returns ms as text in the unit of its column; a dash if the time is not known."""
    return "–" if ms is None else write_in(ms, unit)


@register.filter
def interval_in(figure: Figure | str | None, unit: Unit) -> str:
    """Returns a figure's 95 % interval in the unit of its column; an empty text if there is no interval."""
    if not isinstance(figure, Figure) or figure.ci95 is None:
        return ""
    return write_interval_in(figure.ci95.low, figure.ci95.high, unit)


@register.filter
def interval_as_share(figure: Figure | str | None) -> str:
    """Returns a figure's 95 % interval in per cent; an empty text if there is no interval."""
    if not isinstance(figure, Figure) or figure.ci95 is None:
        return ""
    return f"{share(figure.ci95.low)} to {share(figure.ci95.high)}"


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
    """Returns a part of one in per cent; a dash if it is not known."""
    return "–" if part is None else write_share(part)


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
def masked(text: str) -> str:
    """Hides the names in mail addresses. Others see hints and problems of channels, and old ones are in full."""
    return mask_addresses(text)


@register.filter
def visible(text: str) -> str:
    """Makes control and direction characters visible: a name must not hide or reorder what stands around it.

    It does not escape markup: templates do.
    """
    return "".join(_picture(char) if unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp"} else char for char in text)


@register.filter
def further(dimensions: Mapping[str, str]) -> str:
    """Returns the known values of a view's dimensions other than device and browser, each after a comma."""
    values = (value for name, value in dimensions.items() if name not in ("device", "browser"))
    return "".join(f", {value}" for value in values if value != "unknown")


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
        bar = BarPart(key=key, word=word, meaning=meaning, us=us, share=part, x=f"{x:.1f}", width=f"{end - x:.1f}")
        parts.append(bar)
        at += us
    return parts


@dataclass(frozen=True, slots=True, kw_only=True)
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
        bar = DayBar(
            row=row,
            x=str(x),
            js_y=f"{BAR_HEIGHT - js:.1f}",
            js_height=f"{js:.1f}",
            hidden_y=f"{BAR_HEIGHT - js - hidden:.1f}",
            hidden_height=f"{hidden:.1f}",
        )
        bars.append(bar)
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
