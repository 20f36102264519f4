"""What a process remembers of the database and the settings; tests change both."""

from typing import Final

WAKE_LIMIT_S: Final = 120.0


def forget_everything() -> None:
    """Empties all of it, so that no test knows what another one had."""
    from aggregate.claimants import forget_token
    from aggregate.folding.claims import forget_turns
    from aggregate.folding.interning import forget_interned
    from aggregate.folding.rests import RESTS
    from aggregate.selectors.code.project_code import forget_labels
    from aggregate.selectors.code.sites import forget_sites
    from aggregate.selectors.views.decoded import forget_decoded
    from config.telemetry.tables import KEPT_GAUGES
    from dashboard.api.project.metrics import forget_metrics
    from dashboard.web.remembered import forget_tables
    from ingest.door.absent_counts import forget_absences
    from ingest.door.admission import forget_admission
    from ingest.door.groups import forget_groups
    from ingest.door.keys import forget_keys
    from ingest.door.limits import envelope_limits
    from ingest.door.quotas import forget_quotas
    from ingest.wake import settle_wakes

    assert settle_wakes(WAKE_LIMIT_S), "a wake-up of the test before is still under way"
    forgetting = (
        KEPT_GAUGES.forget,
        RESTS.forget,
        forget_absences,
        forget_admission,
        forget_quotas,
        forget_decoded,
        forget_groups,
        forget_interned,
        forget_keys,
        forget_labels,
        forget_sites,
        forget_metrics,
        forget_tables,
        forget_token,
        forget_turns,
    )
    for forget in forgetting:
        forget()
    envelope_limits.cache_clear()  # they are read once per process
