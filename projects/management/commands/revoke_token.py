"""`revoke_token --project SLUG [PREFIX]`: prints a JSON object for the revoked token, or for each live token."""

import json
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from projects.models import ApiToken, Project
from projects.tokens import live_tokens, revoke_token


class Command(BaseCommand):
    help = "Revoke a token of a project's read API, and the links made with it; without TOKEN, list the live tokens."
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "token", nargs="?", metavar="TOKEN", help="the whole token, or its first part (ff_1a2b3c4d)"
        )
        parser.add_argument("--project", required=True, metavar="SLUG")

    def handle(self, *args: Any, **options: Any) -> None:
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project with the slug {options['project']!r}.")
        live = live_tokens(datetime.now(UTC)).filter(project=project).order_by("pk")
        if options["token"] is None:
            for token in live:
                self.stdout.write(json.dumps(_describe(token)))
            return
        prefix = options["token"].removeprefix("ff_").partition("_")[0]
        revoked = revoke_token(project=project, prefix=prefix)
        if revoked is None:
            raise CommandError(f"The project has no live token that begins with ff_{prefix}.")
        self.stdout.write(json.dumps(_describe(revoked)))


def _describe(token: ApiToken) -> dict[str, object]:
    return {
        "token": f"ff_{token.prefix}_…",
        "name": token.name,
        "raw": ApiToken.Scope.RAW in token.scopes,
        "scopes": sorted(token.scopes),
        "created_at": token.created_at.isoformat(timespec="seconds"),
        "expires_at": token.expires_at and token.expires_at.isoformat(timespec="seconds"),
        "last_used_at": token.last_used_at and token.last_used_at.isoformat(timespec="seconds"),
    }
