"""Page views of a day long enough ago for its hours to be merged."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.envelopes import make_envelope

NOW = datetime.now(UTC)
OLD = (NOW - timedelta(days=4)).replace(hour=3, minute=30)
SHAPES = ["A\nA B\n-", "A B C\nA B\nD", "-\n-", "D\nD E\nA"]


def old_views(count: int = 12) -> list[dict[str, Any]]:
    """Returns views over some hours of one day, four days ago, on two pages and devices, some by soft navigation."""
    return [
        make_envelope(
            f"v{n}",
            SHAPES[n % 4],
            page=f"/p{n % 2}",
            viewStart=(OLD + timedelta(hours=n % 5)).timestamp() * 1000,
            device={"mobile": bool(n % 3), "cores": 2},
            reason="pagehide" if n % 4 == 0 else "manual",
            **({"navigation": "route"} if n % 3 == 2 else {}),
        )
        for n in range(count)
    ]
