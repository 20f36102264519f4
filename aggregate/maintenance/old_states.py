"""Old rows of alerts are deleted, and so are the oldest ones of a project that has very many."""

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection, transaction

from profcore.alerts.states import State
from profcore.times import midnight_days_before

# Of one project. At most six releases of 80 pages are watched at once. Anybody can make up releases, whose states stay.
MAX_STATES_KEPT: Final = 5_000

OLD_STATES: Final = """
DELETE FROM alerts_alertstate s USING (
    SELECT alert_id, subject_key, row_number() OVER (ORDER BY seen_at DESC, alert_id, subject_key) AS place,
           seen_at < %(quiet_before)s AND state <> ALL(%(open)s::smallint[])
           OR seen_at < %(before)s AS is_old
    FROM alerts_alertstate WHERE project_id = %(project_id)s) AS o
WHERE s.project_id = %(project_id)s AND s.alert_id = o.alert_id AND s.subject_key = o.subject_key
      AND (o.is_old OR o.place > %(most)s)"""
# Ids grow with time: the oldest beyond the most have the lowest ones.
OLD_CHANGES: Final = """
DELETE FROM alerts_statechange WHERE project_id = %(project_id)s AND (at < %(before)s OR id <= coalesce(
    (SELECT id FROM alerts_statechange WHERE project_id = %(project_id)s ORDER BY id DESC OFFSET %(most)s LIMIT 1),
    0))"""
# A notice without its change has nothing to say.
OLD_NOTICES: Final = """
DELETE FROM alerts_notice n WHERE n.project_id = %(project_id)s AND NOT EXISTS (
    SELECT FROM alerts_statechange c WHERE c.project_id = %(project_id)s AND c.id = n.change_id)"""
OLD_MESSAGES: Final = """
DELETE FROM alerts_message WHERE project_id = %(project_id)s AND created_at < %(messages_before)s"""


def expire_alerts(project_id: int, now: datetime, *, cells_before: datetime) -> int:
    """Deletes a project's old states, changes, notices and messages; returns how many rows.

    What is open stays as long as cells do; other states go when their release is no longer evaluated.
    """
    values: dict[str, int | datetime | list[int]] = {
        "project_id": project_id,
        "open": [State.SUSPECTED, State.CONFIRMED],
        "before": cells_before,
        "quiet_before": now - timedelta(days=2 * settings.ALERTS_RELEASE_DAYS),
        "messages_before": midnight_days_before(now, settings.KEEP_MESSAGES_DAYS),
    }
    deleted = 0
    with transaction.atomic(), connection.cursor() as cursor:
        for statement, most in (
            (OLD_STATES, MAX_STATES_KEPT),
            (OLD_CHANGES, settings.ALERTS_MAX_CHANGES),
            (OLD_NOTICES, 0),
            (OLD_MESSAGES, 0),
        ):
            cursor.execute(statement, {**values, "most": most})
            deleted += cursor.rowcount
    return deleted
