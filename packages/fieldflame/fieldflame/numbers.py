"""Numbers as a person reads them in a log."""

LEAST_MS = 0.05  # less than this rounds to nothing


def write_ms(ms: float) -> str:
    """Returns a time: `0.4 ms`, `41 ms`, `1.30 s`, `125 s`."""
    if ms < 0:
        return "−" + write_ms(-ms)
    if ms < 10:
        return f"{ms:.1f}".removesuffix(".0") + " ms"
    if ms < 999.5:
        return f"{ms:.0f} ms"
    return f"{ms / 1_000:.2f} s" if ms < 9_995 else f"{ms / 1_000:,.0f} s"


def write_change(ms: float) -> str:
    """Returns a difference with its sign."""
    if abs(ms) < LEAST_MS:
        return "±0 ms"
    return ("+" if ms > 0 else "−") + write_ms(abs(ms))


def write_interval(pair: tuple[float, float]) -> str:
    """Returns an interval: `122 to 758 ms`."""
    low, high = (write_ms(ms) for ms in pair)
    if low.rpartition(" ")[2] == high.rpartition(" ")[2]:
        low = low.rpartition(" ")[0]
    return f"{low} to {high}"


def write_percent(share: float) -> str:
    """Returns a share: `0.4 %`, `12 %`."""
    return f"{share * 100:.1f}".removesuffix(".0") + " %" if share < 0.1 else f"{share * 100:.0f} %"


def write_count(count: int, what: str) -> str:
    """Returns a count of page views and the like: `1 page view`, `2,000 page views`."""
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def round_up(count: float) -> int:
    """Returns a number of views with two digits, not below it: more digits would claim to know."""
    step = 1
    while count / step >= 100:
        step *= 10
    return int(-(-count // step) * step)
