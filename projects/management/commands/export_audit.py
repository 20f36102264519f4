"""`export_audit`: prints the log of administration as lines of JSON, oldest first."""

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from projects.audit.entries import iter_lines
from projects.models import AuditEntry


class Command(BaseCommand):
    help = (
        "Print the log of administration as lines of JSON, oldest first. To continue an export, give the id of the "
        "last line that you have."
    )
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", metavar="SLUG", help="only entries about this project, also a deleted one")
        parser.add_argument("--since", metavar="DATE", help="only entries from this UTC day on, such as 2026-11-01")
        parser.add_argument("--after", type=int, metavar="ID", help="only entries after this one")

    def handle(self, *args: Any, **options: Any) -> None:
        entries = AuditEntry.objects.all()
        if options["project"] is not None:
            entries = entries.filter(project_slug=options["project"])
        if options["since"] is not None:
            try:
                since = datetime.strptime(options["since"], "%Y-%m-%d").replace(tzinfo=UTC)
            except ValueError:
                raise CommandError(f"--since must be a day such as 2026-11-01, not {options['since']!r}.") from None
            entries = entries.filter(at__gte=since)
        if options["after"] is not None:
            entries = entries.filter(pk__gt=options["after"])
        for line in iter_lines(entries):
            self.stdout.write(line, ending="")
