"""`create_project SLUG --key KEY --origin ORIGIN…`: prints one JSON object."""

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from projects.creation import create_project


class Command(BaseCommand):
    help = "Create a project with a public key; prints {slug, key}. Without members, only superusers can read it."
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="letters, digits, - and _; part of the project's address")
        parser.add_argument("--key", help="the public key (default: a random one)")
        parser.add_argument("--origin", action="append", default=[], help="an allowed origin; repeatable; * = any")
        parser.add_argument("--name", help="the name to show (default: the slug)")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            project, key = create_project(
                slug=options["slug"], key=options["key"], origins=options["origin"], name=options["name"]
            )
        except ValidationError as error:
            sentences = "; ".join(f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items())
            raise CommandError(f"The project was not created. {sentences}") from None
        self.stdout.write(json.dumps({"slug": project.slug, "key": key.public_key}))
