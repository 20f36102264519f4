"""What a process remembers of the database and the settings; tests change both."""

from typing import Final

WAKE_LIMIT_S: Final = 120.0


def clear_caches() -> None:
    """Empties all caches, so that no test depends on another."""
    from aggregate.fold.claims import clear_turns
    from aggregate.fold.interning import clear_interned
    from aggregate.fold.linger import LINGER
    from aggregate.selectors.code.sites import clear_sites
    from aggregate.selectors.code.symbols import clear_labels
    from aggregate.selectors.page_views.decoded import clear_decoded
    from aggregate.worker_leases import clear_token
    from dashboard.api.project.metrics import clear_metrics
    from dashboard.web.cache import clear_tables
    from ingest.endpoint.admission import clear_admission
    from ingest.endpoint.client_report_counts import clear_absences
    from ingest.endpoint.limits import envelope_limits
    from ingest.endpoint.quotas import clear_quotas
    from ingest.notify import settle_notifications
    from ingest.storage.groups import clear_groups
    from ops.telemetry.tables import KEPT_GAUGES
    from projects.key_cache import clear_keys

    assert settle_notifications(WAKE_LIMIT_S), "a wake-up of the test before is still under way"
    forgetting = (
        KEPT_GAUGES.clear,
        LINGER.clear,
        clear_absences,
        clear_admission,
        clear_quotas,
        clear_decoded,
        clear_groups,
        clear_interned,
        clear_keys,
        clear_labels,
        clear_sites,
        clear_metrics,
        clear_tables,
        clear_token,
        clear_turns,
    )
    for clear in forgetting:
        clear()
    envelope_limits.cache_clear()  # they are read once per process
