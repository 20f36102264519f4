"""The endpoint's counters: name, unit and closed tag sets (never a route, release or URL)."""

from typing import Final

from prometheus_client import Counter

INGEST_ENVELOPES: Final = Counter(
    "fieldflame_ingest_envelopes_total",
    "Envelopes the endpoint answered, by outcome (accepted, refused) and reason (a profcore.errors.Reason, or empty)",
    ["outcome", "reason"],
)
INGEST_ABSENCES: Final = Counter(
    "fieldflame_ingest_absences_total",
    "Reports of page views that recorded nothing, by outcome (counted, refused) and reason (as above, or empty)",
    ["outcome", "reason"],
)
