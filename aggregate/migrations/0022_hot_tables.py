"""Tables of which many rows are dead soon are vacuumed earlier than by default, which is at a fifth of dead rows.

The settings lock out nobody.
"""

from django.db import migrations

# Pieces are appended and merged: nearly all of them are dead within minutes. Views are replaced when they grow.
EARLY = {
    "aggregate_hotspotpiece": (0.02, 2_000),
    "aggregate_calltreepiece": (0.02, 2_000),
    "aggregate_view": (0.05, 5_000),
}
NAMES = ("autovacuum_vacuum_scale_factor", "autovacuum_vacuum_threshold")


def _list_statements() -> tuple[list[str], list[str]]:
    there, back = [], []
    for table, values in EARLY.items():
        for prefix in ("", "toast."):
            names = [f"{prefix}{name}" for name in NAMES]
            settings = ", ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))
            there.append(f"ALTER TABLE {table} SET ({settings});")
            back.append(f"ALTER TABLE {table} RESET ({', '.join(names)});")
    return there, back


THERE, BACK = _list_statements()


class Migration(migrations.Migration):
    dependencies = [("aggregate", "0025_background_refolds")]
    operations = [migrations.RunSQL("\n".join(THERE), "\n".join(BACK))]
