"""Template filters that write differences: signed, with their interval and their q-value."""

from typing import Final

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.layout.measures import TIME_WORDS
from dashboard.templatetags.figures import count
from profcore.numbers import (
    MINUS,
    THIN,
    Unit,
    write_change,
    write_change_in,
    write_interval,
    write_interval_in,
    write_share,
)
from profcore.stats.comparison import Difference
from profcore.stats.estimates import Interval

register = template.Library()

TIMES_FROM: Final = 9.0  # of the first side: hundreds of per cent say little


@register.filter
def time_word(measure: str) -> str:
    """Returns what a measure counts, such as `script time`."""
    return TIME_WORDS.get(measure, "")


@register.filter
def change_as_time(ms: float) -> str:
    """Returns a difference in ms with its sign, `+41 ms`; what rounds to nothing is `±0 ms`."""
    return write_change(ms)


@register.filter
def change_in(ms: float, unit: Unit) -> str:
    """Returns a difference in ms with its sign, in the unit of its column (`unit_of`)."""
    return write_change_in(ms, unit)


@register.filter
def interval_of_in(difference: Difference, unit: Unit) -> str:
    """Returns a difference's 95 % interval in the unit of its column; an empty text if there is none."""
    return "" if difference.ci95 is None else write_interval_in(difference.ci95.low, difference.ci95.high, unit)


@register.filter
def relative_change(part: float) -> str:
    """Returns a relative difference in per cent with its sign."""
    return f"{MINUS if part < 0 else '+'}{write_share(abs(part))}"


@register.filter
def relative_size(part: float) -> str:
    """Returns a relative difference without its sign; from ten times as much on, the factor."""
    return f"×{THIN}{count(round(1 + part))}" if part >= TIMES_FROM else write_share(abs(part))


@register.filter
def relative_change_size(part: float) -> str:
    """Returns a relative difference with its sign; from ten times as much on, the factor."""
    return relative_size(part) if part >= TIMES_FROM else relative_change(part)


@register.filter
def change_interval(interval: Interval) -> str:
    """Returns the interval of a difference, `8.1 to 16.4 ms`."""
    return write_interval(interval.low, interval.high)


@register.filter
def interval_of(difference: Difference) -> str:
    """Returns a difference's 95 % interval; an empty text if there is none."""
    return "" if difference.ci95 is None else change_interval(difference.ci95)


@register.filter
def state_word(state: str) -> str:
    """Returns the state of a change in words, such as `no clear change`."""
    return state.replace("_", " ")


@register.filter
def about(number: int) -> str:
    """Returns a number of views with two digits, which is as much as an estimate knows."""
    return count(round(number, 2 - len(str(number))))


@register.filter
def q_value(q: float) -> str:
    """Returns a q-value or p-value with as many digits as it is good for."""
    return f"<{THIN}0.001" if q < 0.001 else f"{q:.3f}" if q < 0.1 else f"{q:.2f}"


@register.filter
def q_equation(q: float) -> str:
    """Returns what follows a `q` or `p` in a sentence: `= 0.015` or `< 0.001`."""
    return q_value(q) if q < 0.001 else f"= {q_value(q)}"


@register.simple_tag
def part_link(address: str, part: str, query: str, is_plain: bool) -> SafeString:
    """Returns the attributes of a link that changes what a part shows: by htmx in its place, else by the whole page."""
    if is_plain:
        return format_html('href="{}?{}"', address, query)
    return format_html(
        'href="{0}?{2}" hx-get="{1}?{2}" hx-target="#compared" hx-swap="innerHTML" hx-indicator="#compared"',
        address,
        part,
        query,
    )
