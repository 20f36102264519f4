"""`./run`: starts PostgreSQL, Valkey, the web server, a worker and beat, and keeps them running."""

import sys
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser

from config.env import read_int, read_str
from config.up.start import Options, run_up


class Command(BaseCommand):
    help = (
        "Start all of Fieldflame on this machine and keep it running until Ctrl-C: PostgreSQL and Valkey (or the ones "
        "that DATABASE_URL and REDIS_URL name), the web server, a worker and beat."
    )
    requires_system_checks = []  # the checks run with the database, once it is up

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--host", default=read_str("FIELDFLAME_HOST", "127.0.0.1"), help="listen here (127.0.0.1)")
        parser.add_argument("--port", type=int, default=read_int("FIELDFLAME_PORT", 8000), help="and here (8000)")
        parser.add_argument("--data", type=Path, default=settings.DATA_DIR, help="the data folder (var)")
        parser.add_argument("--no-demo", action="store_true", help="no demo project and no sample traces")

    def handle(self, *args: object, **options: object) -> None:
        host, port, data = options["host"], options["port"], options["data"]
        assert isinstance(host, str)  # argparse saw to these
        assert isinstance(port, int)
        assert isinstance(data, Path)
        sys.exit(run_up(Options(host=host, port=port, data=data, with_demo=not options["no_demo"])))
