"""What a process remembers of the database and the settings; tests change both."""

from typing import Final

WAKE_LIMIT_S: Final = 120.0


def forget_everything() -> None:
    """Empties all of it, so that no test knows what another one had."""
    from aggregate.fold.claims import forget_turns
    from aggregate.fold.interning import forget_interned
    from aggregate.fold.linger import RESTS
    from aggregate.selectors.code.sites import forget_sites
    from aggregate.selectors.code.symbols import forget_labels
    from aggregate.selectors.page_views.decoded import forget_decoded
    from aggregate.worker_leases import forget_token
    from dashboard.api.project.metrics import forget_metrics
    from dashboard.web.cache import forget_tables
    from ingest.endpoint.admission import forget_admission
    from ingest.endpoint.client_report_counts import forget_absences
    from ingest.endpoint.limits import envelope_limits
    from ingest.endpoint.quotas import forget_quotas
    from ingest.notify import settle_wakes
    from ingest.storage.groups import forget_groups
    from ops.telemetry.tables import KEPT_GAUGES
    from projects.key_cache import forget_keys

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
