"""Empties the database behind a test that commits.

Django's own flush empties every table and then makes all content types and permissions anew. Most tests fill a few
tables, and none of them needs other permissions than the migrations made.
"""

import pytest
from django.db import OperationalError, connection
from django.test import TransactionTestCase
from psycopg.errors import DeadlockDetected

# What the migrations made, and what no test adds to.
KEPT = ("django_migrations", "django_content_type", "auth_permission")
TRIES = 5
# Partitions are emptied with their table. The raw traces' is not managed by Django, which would leave it as it is.
EMPTY = f"""
DO $$
DECLARE
    name text;
    is_filled boolean;
    filled text[] := '{{}}';
BEGIN
    -- Only Citus knows this: one connection to each worker sees all that the statement does.
    PERFORM set_config('citus.multi_shard_modify_mode', 'sequential', true);
    FOR name IN
        SELECT quote_ident(relname) FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
              AND relname NOT IN {KEPT}
    LOOP
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %s)', name) INTO is_filled;
        IF is_filled THEN
            filled := filled || name;
        END IF;
    END LOOP;
    IF cardinality(filled) > 0 THEN
        -- The audit log refuses to be emptied; the owner of the table may look away for a moment.
        IF 'projects_auditentry' = ANY(filled) THEN
            ALTER TABLE projects_auditentry DISABLE TRIGGER USER;
        END IF;
        EXECUTE format('TRUNCATE %s CASCADE', array_to_string(filled, ', '));
        IF 'projects_auditentry' = ANY(filled) THEN
            ALTER TABLE projects_auditentry ENABLE TRIGGER USER;
        END IF;
    END IF;
END
$$
"""


def empty_tables(case: TransactionTestCase) -> None:
    """Empties the tables that have rows, in one statement.

    What a test has left under way may still write for a moment, in another order: then PostgreSQL ends one of both.
    """
    for tries_left in reversed(range(TRIES)):
        try:
            with connection.cursor() as cursor:
                cursor.execute(EMPTY)
            return
        except OperationalError as error:
            if not isinstance(error.__cause__, DeadlockDetected) or not tries_left:
                raise


def empty_filled_tables_only(patch: pytest.MonkeyPatch) -> None:
    """Lets tests that commit leave the database this way."""
    patch.setattr(TransactionTestCase, "_fixture_teardown", empty_tables)
