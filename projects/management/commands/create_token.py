"""`create_token --project SLUG`: prints one JSON object."""

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from projects.models import ApiToken, Project
from projects.tokens import create_token


class Command(BaseCommand):
    help = "Create a token of the API for a project; prints {slug, token}. The token is shown only once."
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG")
        parser.add_argument("--name", default="", help="what the token is for")
        parser.add_argument(
            "--scope",
            action="append",
            choices=ApiToken.Scope.values,
            help="what it may do; repeatable (default: read). raw brings read",
        )
        parser.add_argument("--days", type=int, help="it ends after so many days (default: only when it is revoked)")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project with the slug {options['project']!r}.")
        try:
            token, clear = create_token(
                project=project,
                name=options["name"],
                scopes=options["scope"] or [ApiToken.Scope.READ],
                days=options["days"],
            )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from None
        output: dict[str, object] = {"slug": project.slug, "token": clear}
        if token.expires_at is not None:
            output["expires_at"] = token.expires_at.isoformat(timespec="seconds")
        self.stdout.write(json.dumps(output))
