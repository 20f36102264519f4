"""Deletes data older than its retention."""

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand
from tqdm import tqdm

from aggregate.maintenance.retention import expire_all


class Command(BaseCommand):
    help = (
        "Delete raw traces, views, cells, receipts and counts that are older than the retention of their project. "
        "This happens every hour by itself. The command may be killed and run again."
    )
    requires_system_checks = []  # they import every page: a second

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        with tqdm(unit="step", desc="expire", disable=None) as bar:

            def on_step(name: str) -> None:
                bar.set_postfix_str(name)
                bar.update()

            expired = expire_all(datetime.now(UTC), on_step)
        self.stdout.write(", ".join(f"{count} {name}" for name, count in asdict(expired).items()) + ".")
