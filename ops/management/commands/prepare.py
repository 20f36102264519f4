"""The step between stores and servers: schema, static files, first user."""

import json
from pathlib import Path

from django.core.management.base import BaseCommand, CommandParser

from ops.prepare import prepare
from ops.supervisor.folder import write_private


class Command(BaseCommand):
    help = "Migrate the database, collect static files, and create the user `admin` if there is no superuser."
    requires_system_checks = []  # `migrate` runs those of the database

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--result", type=Path, help="write the login to this file, as JSON")

    def handle(self, *args: object, **options: object) -> None:
        verbosity, result = options["verbosity"], options["result"]
        assert isinstance(verbosity, int)  # argparse saw to it
        login = prepare(verbosity=verbosity)
        if isinstance(result, Path):
            write_private(result, json.dumps(login) + "\n")
