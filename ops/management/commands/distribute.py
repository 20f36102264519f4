"""Distributes the tables over the workers of a Citus cluster."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DEFAULT_DB_ALIAS

from ops.citus.distributing import CannotDistribute, check_server, distribute, look
from ops.database.waiting import try_for_locks


class Command(BaseCommand):
    help = (
        "Distribute the tables over the workers of a Citus cluster, by project: all of them or none. "
        "It may be given again at any time. --check only says what is where; exit status 1 if something is not in its "
        "place, or if the server is not ready. docs/scale.md says what to do before."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--check", action="store_true", help="say what is where, and change nothing")

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        try:
            if options["check"]:
                self.check_places()
            else:
                try_for_locks(self.distribute, what="The command", database=DEFAULT_DB_ALIAS, say=self.stdout.write)
        except CannotDistribute as error:
            raise CommandError(str(error)) from error

    def distribute(self) -> None:
        """Brings all tables to their places."""
        self.stdout.write(f"{distribute(self.say)} tables moved. All are in their places.")

    def say(self, table: str) -> None:
        """Names the table that moves now."""
        self.stdout.write(f"  {table}")
        self.stdout.flush()

    def check_places(self) -> None:
        """Prints where each table is. Raises CommandError if one is not in its place."""
        workers = check_server()
        standings = look()
        for standing in standings:
            ends = "" if standing.is_right else f", but should be {standing.wanted.value}"
            self.stdout.write(f"{standing.table}: {standing.actual.value}{ends}")
        self.stdout.write("workers: " + ", ".join(f"{host}:{port}" for host, port in workers))
        if wrong := [standing.table for standing in standings if not standing.is_right]:
            raise CommandError(f"{len(wrong)} tables are not in their places: give `manage.py distribute`.")
        self.stdout.write("All are in their places.")
