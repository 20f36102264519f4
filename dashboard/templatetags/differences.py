"""How differences are written: signed, with their interval, and in words how sure they are."""

from typing import Final

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.templatetags.figures import THIN, count, ms_as_time, share
from profcore.stats.comparison import Difference

register = template.Library()

MINUS: Final = "\u2212"
TIMES_FROM: Final = 9.0  # of the base: hundreds of per cent say little
LEAST_MS: Final = 0.05  # what is shown as more than nothing


@register.filter
def signed_ms(ms: float) -> str:
    """Writes a difference in ms with its sign; what rounds to nothing is `±0.0 ms`."""
    if abs(ms) < LEAST_MS:
        return f"±{ms_as_time(0)}"
    return f"{'+' if ms > 0 else MINUS}{ms_as_time(abs(ms))}"


@register.filter
def size_ms(ms: float) -> str:
    """Writes a difference in ms without its sign, where words say which way."""
    return ms_as_time(abs(ms))


@register.filter
def size_share(part: float) -> str:
    """Writes a relative difference without its sign; what is many times as much, by how many."""
    return f"×{THIN}{count(round(1 + part))}" if part >= TIMES_FROM else share(abs(part))


@register.filter
def bounds(found: Difference) -> str:
    """Writes a difference's 95 % interval, `8.1 to 16.4 ms`; nothing where the data bears none."""
    if found.ci95 is None:
        return ""
    low, high = (_signed(ms) for ms in (found.ci95.low, found.ci95.high))
    unit = THIN + high.rpartition(THIN)[2]
    return f"{low.removesuffix(unit) if low.endswith(unit) else low} to {high}"


@register.filter
def as_q(q: float) -> str:
    """Writes a q-value with as many digits as it is good for."""
    return f"<{THIN}0.001" if q < 0.001 else f"{q:.3f}" if q < 0.1 else f"{q:.2f}"


def _signed(ms: float) -> str:
    text = ms_as_time(abs(ms))
    return MINUS + text if ms < 0 and abs(ms) >= LEAST_MS else text


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
