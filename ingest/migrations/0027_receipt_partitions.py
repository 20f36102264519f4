"""Receipts in partitions by the time of receipt. The table of before is the first of them, as it is: nothing is copied.

Web servers and workers of the version before go on with that table, by its name, until its last day: 15 to 30 days from
now. One pass over the receipts checks that none of them is later; the ingest endpoint goes on meanwhile. Each statement
that needs the table for itself waits half a second at most, and the migration can be started again.

The way back copies the receipts of later partitions, and holds up the ingest endpoint meanwhile.
"""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.db import migrations, transaction

PARTITION_DAYS = 15  # borders are the days whose number it divides (ingest.receipt_partitions)
LOCK_TIMEOUT = "500ms"  # a post gives up after 1.7 s
CHECK = "receipt_in_first_partition"
INDEXES = """
CREATE INDEX {prefix}queue ON {table} (received_at) WHERE state = 0;
CREATE INDEX {prefix}group_queue ON {table} (project_id, group_id, received_at) WHERE state = 0;
CREATE INDEX {prefix}rejected ON {table} (project_id, received_at) WHERE state = 2;
"""
# Retention of the version before reads it. Partitions need none: of them a planner would read many pages by it.
BY_AGE = "CREATE INDEX receipt_by_age ON ingest_receipt USING brin (received_at)"
STORAGE = "autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000"


def find_border(today: date) -> date:
    """Returns the first border that is at least one length away."""
    return today + timedelta(days=2 * PARTITION_DAYS - today.toordinal() % PARTITION_DAYS)


def divide(apps: Any, schema_editor: Any) -> None:
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(received_at) FROM ingest_receipt WHERE received_at > now()")  # by a wrong clock
        ((latest,),) = cursor.fetchall()
    now = max(datetime.now(UTC), latest or datetime.min.replace(tzinfo=UTC))
    border = f"{find_border(now.astimezone(UTC).date())} 00:00:00+00"
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        cursor.execute(f"ALTER TABLE ingest_receipt DROP CONSTRAINT IF EXISTS {CHECK}")
        cursor.execute(
            f"ALTER TABLE ingest_receipt ADD CONSTRAINT {CHECK} CHECK (received_at < timestamptz '{border}') NOT VALID"
        )
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE ingest_receipt VALIDATE CONSTRAINT {CHECK}")
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{LOCK_TIMEOUT}'")
        cursor.execute(
            "CREATE TABLE ingest_tracereceipt (LIKE ingest_receipt INCLUDING DEFAULTS) PARTITION BY RANGE (received_at)"
        )
        cursor.execute(INDEXES.format(prefix="tracereceipt_", table="ingest_tracereceipt"))
        cursor.execute(
            f"""ALTER TABLE ingest_tracereceipt ATTACH PARTITION ingest_receipt
                FOR VALUES FROM (MINVALUE) TO ('{border}')"""
        )
        cursor.execute(f"ALTER TABLE ingest_receipt DROP CONSTRAINT {CHECK}")


def unite(apps: Any, schema_editor: Any) -> None:
    connection = schema_editor.connection
    with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE ingest_tracereceipt IN ACCESS EXCLUSIVE MODE")
        cursor.execute(
            """SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
               WHERE i.inhparent = 'ingest_tracereceipt'::regclass ORDER BY 1"""
        )
        names = [name for (name,) in cursor.fetchall()]
        if "ingest_receipt" in names:
            cursor.execute("ALTER TABLE ingest_tracereceipt DETACH PARTITION ingest_receipt")
        else:  # retention has dropped it
            cursor.execute("CREATE TABLE ingest_receipt (LIKE ingest_tracereceipt INCLUDING DEFAULTS)")
            cursor.execute("ALTER TABLE ingest_receipt ADD PRIMARY KEY (project_id, view_id, seq)")
            cursor.execute(f"ALTER TABLE ingest_receipt SET ({STORAGE})")
            cursor.execute(INDEXES.format(prefix="receipt_", table="ingest_receipt"))
            cursor.execute(BY_AGE)
        cursor.execute("INSERT INTO ingest_receipt SELECT * FROM ingest_tracereceipt ON CONFLICT DO NOTHING")
        cursor.execute("DROP TABLE ingest_tracereceipt")


class Migration(migrations.Migration):
    atomic = False  # the check of all receipts must not hold what the statement before it locks

    dependencies = [("ingest", "0026_border_receipts")]

    operations = [
        migrations.RunPython(divide, unite),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.AlterModelTable(name="receipt", table="ingest_tracereceipt"),
                *(
                    migrations.RenameIndex(model_name="receipt", new_name=f"trace{name}", old_name=name)
                    for name in ("receipt_queue", "receipt_group_queue", "receipt_rejected")
                ),
                migrations.RemoveIndex(model_name="receipt", name="receipt_by_age"),
            ],
        ),
    ]
