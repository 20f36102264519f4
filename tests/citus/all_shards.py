"""Statements that may ask all shards at once, or something of a session, each with its reason."""

from collections.abc import Mapping
from typing import Final

RULES: Final = ("all shards", "session")  # of `tests.citus.statements`; from the others nothing is excepted

REASONS: Final[Mapping[str, str]] = {
    # Reads of several projects at once. Each shard sums up what it has.
    "aggregate/selectors/project/summaries.py:select_project_summaries": "the list of a person's projects",
    "aggregate/selectors/project/summaries.py:select_project_days": "the list of a person's projects",
    "aggregate/selectors/search/function_hits.py:find_functions": "the search over a person's projects",
    "aggregate/selectors/search/place_hits.py:find_views": "the search over a person's projects",
    "aggregate/selectors/search/place_hits.py:_find": "the search over a person's projects",
    # Queues that are one for all projects. Each has an index of its few rows that wait.
    "aggregate/fold/claims.py:claim_batch": "the next project with pending traces",
    "aggregate/jobs/runs.py:claim_job": "the next job of any project",
    "aggregate/jobs/requests.py:expire_jobs": "old jobs of all projects, once an hour",
    "aggregate/sourcemaps/queue.py:claim_script": "the next script of any project",
    "aggregate/sourcemaps/queue.py:list_projects_with_scripts": "which projects have source maps",
    "ingest/joining.py:_list_projects": "the projects with chunks that wait for their page",
    "ingest/endpoint/admission.py:_is_below_total": "the pending bytes of all projects, a bound of the server",
    "ingest/endpoint/absence_counts.py:count_absence": "its setting is for the coordinator's commit",
    "ingest/endpoint/outcomes.py:count_refusals": "its setting is for the coordinator's commit",
    # What is asked of the whole server: gauges of `/metrics`, and the doctor's checks.
    "ops/telemetry/tables.py:_ask": "the gauges; what Citus cannot answer has a statement of its own",
    "aggregate/doctor/server/quota_checks.py:select_uses": "the bytes of all projects by day",
    "aggregate/doctor/server/work_checks.py:check_jobs": "jobs that nobody runs",
    "aggregate/doctor/server/work_checks.py:check_pending": "the oldest pending trace",
    "aggregate/doctor/server/work_checks.py:check_retention": "the first cell of each project",
    # Maintenance of all projects, every few minutes or once an hour.
    "aggregate/fold/linger.py:_has_pending": "whether a partition has pending traces",
    "aggregate/fold/rollups.py:_roll_up_some": "which hours are over",
    "aggregate/maintenance/batches.py:delete_some": "its statement for plain PostgreSQL takes rows by their places",
    "aggregate/maintenance/merging.py:find_due": "which days are over",
    "aggregate/maintenance/old_receipts.py:_has_pending": "whether a partition may go",
    "aggregate/maintenance/old_receipts.py:_list_border_projects": "which projects have rows of a day or two ago",
    "aggregate/maintenance/retention.py:expire_all": "old refolds",
    "aggregate/maintenance/retention.py:_drop_partition": "whether a partition may go",
    # Alerts. Partial indexes have the few rows that are due.
    "alerts/evaluating.py:list_due": "the alerts of all projects that are due",
    "alerts/rules.py:make_release_alerts": "which projects have an alert on releases, twice a minute",
    "alerts/delivery/gathering.py:list_due_channels": "which channels have notices that are due",
    "alerts/delivery/sending.py:list_due": "the messages of all projects that are due",
    # Packs in the object store. Their partial indexes have only those that wait.
    "ingest/storage/packs/mark.py:_has_packs": "whether there are packs, once per process",
    "aggregate/maintenance/packs/tidying.py:_has_work": "whether any pack waits, once a minute",
    "aggregate/maintenance/packs/tidying.py:_select_untidy": "the next pack of any project",
    "aggregate/maintenance/packs/deleting.py:_select_doomed": "objects to delete, of all projects",
    "aggregate/maintenance/packs/deleting.py:clear_deleted_packs": "rows of packs that were deleted a week ago",
    "aggregate/maintenance/packs/marking.py:doom_packs_of_day": "the packs of a day that was dropped",
    "aggregate/doctor/server/object_checks.py:_look_at_packs": "what the doctor says of all projects",
}
EXCEPTED: Final = frozenset((rule, place) for place in REASONS for rule in RULES)
