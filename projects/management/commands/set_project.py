"""`set_project SLUG --keep-raw-days 30 …`: sets a project's retention and quota; prints one JSON object."""

import json
from typing import Any, Final

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from projects.limits import LIMITS, change_limits, limit_of
from projects.models import Project

DEFAULT: Final = "default"


class Command(BaseCommand):
    help = (
        "Set how long a project's traces, views and cells are kept and how many traces and megabytes it may "
        "send per day and keep. Prints "
        "{slug, limits}, each limit with the project's own value, the server's default, and the effective value. "
        "Without options it only prints. After a shorter retention is set, the next run of `expire` deletes older data."
    )
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the project")
        parser.add_argument("--keep-raw-days", metavar="DAYS", help="raw traces; `default` for the server's setting")
        parser.add_argument("--keep-views-days", metavar="DAYS", help="views with their contributions; likewise")
        parser.add_argument("--keep-cells-days", metavar="DAYS", help="cells, hotspots, call trees; likewise")
        parser.add_argument("--max-traces-per-day", metavar="TRACES", help="of a UTC day; 0 is no quota; likewise")
        parser.add_argument("--max-mb-per-day", metavar="MB", help="megabytes received in a UTC day, packed; likewise")
        parser.add_argument("--max-kept-mb", metavar="MB", help="megabytes of raw traces that are kept; likewise")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["slug"]).first()
        if project is None:
            raise CommandError(f"There is no project with the slug {options['slug']!r}.")
        changes = {name: self._read(name, options[name]) for name in LIMITS if options[name] is not None}
        try:
            change_limits(project, changes)
        except ValidationError as error:
            sentences = "; ".join(f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items())
            raise CommandError(f"Nothing was changed. {sentences}") from None
        limits = {name: limit_of(project, name) for name in LIMITS}
        values = {n: {"own": x.own, "default": x.default, "effective": x.effective} for n, x in limits.items()}
        self.stdout.write(json.dumps({"slug": project.slug, "limits": values}))

    def _read(self, name: str, text: str) -> int | None:
        if text == DEFAULT:
            return None
        if not (text.isascii() and text.isdigit() and len(text) <= 10):
            raise CommandError(f"Nothing was changed. {name}: {text!r} is neither a whole number nor `{DEFAULT}`.")
        return int(text)
