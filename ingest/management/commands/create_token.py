"""`create_token --project SLUG`: prints one JSON object."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ingest.models import ApiToken, Project
from ingest.projects.tokens import create_token


class Command(BaseCommand):
    help = "Create a token of the API for a project; prints {slug, token}. The token is shown only once."
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--name", default="", help="what the token is for")
        kind = parser.add_mutually_exclusive_group()
        kind.add_argument("--raw", action="store_true", help="the token may also read raw bodies, with their full URLs")
        kind.add_argument("--sourcemaps", action="store_true", help="the token may only upload source maps")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project with the slug {options['project']!r}.")
        scope = ApiToken.Scope.SOURCEMAPS if options["sourcemaps"] else ApiToken.Scope.READ
        _, clear = create_token(project=project, name=options["name"], may_read_raw=options["raw"], scope=scope)
        self.stdout.write(json.dumps({"slug": project.slug, "token": clear}))
