"""Erases page views by their ids, or by a tag."""

import re
from dataclasses import asdict
from functools import partial
from typing import Any, Final
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from aggregate.maintenance.erasing import Erasure, erase_view
from aggregate.maintenance.tag_erasures import erase_tagged
from projects.audit.acts import Act
from projects.audit.entries import record
from projects.models import Project

EXIT_KEPT = 3
TAG: Final = re.compile(r"([^:=]+)[:=](.+)", re.DOTALL)  # a value may have both signs, such as one in base64


def _note(project: Project, group: Erasure) -> None:
    """Writes an erased group to the log of administration, in its transaction."""
    record(Act.ERASURE_FINISHED, project=project, **asdict(group))


def read_tag(text: str) -> tuple[str, str]:
    """Returns the name and the value of a tag, which its first colon or equals sign separates, as in a page's tags."""
    match = TAG.fullmatch(text)
    if match is None:
        raise CommandError("--tag is a name and a value, such as visitor:3f9a.")
    return match[1], match[2]


class Command(BaseCommand):
    help = (
        "Erase page views: their receipts, raw traces and contributions, and their part of all sums. Exit status: 0 "
        f"erased, {EXIT_KEPT} erased, but their part of some sums or call trees could not be found and stays, 1 no "
        "such view."
    )
    requires_system_checks = []  # they import every page: a second

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--project", required=True, metavar="SLUG", help="the project")
        parser.add_argument("view_id", nargs="*", type=UUID, help="the id of a view")
        also = "erase all views of which a kept raw trace has this tag, such as visitor:3f9a or visitor=3f9a"
        parser.add_argument("--tag", metavar="NAME:VALUE", help=also)

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None:
            raise CommandError(f"There is no project {options['project']!r}.")
        if bool(options["tag"]) == bool(options["view_id"]):
            raise CommandError("Name views by their ids, or a --tag.")
        if options["tag"]:
            self.erase_tag(project, options["tag"])
            return
        is_kept = False
        for view_id in options["view_id"]:
            erasure = erase_view(project.pk, view_id, on_group=partial(_note, project))
            if not erasure.traces and not erasure.views:
                raise CommandError(f"There is no view {view_id}.")
            is_kept = is_kept or bool(erasure.kept_sums or erasure.kept_trees)
            self.stdout.write(
                f"{view_id}: {erasure.traces} traces erased, {erasure.kept_sums} sums and {erasure.kept_trees} call "
                "trees kept."
            )
        if is_kept:
            raise CommandError("What was kept holds no view id; it goes when its cells expire.", returncode=EXIT_KEPT)

    def erase_tag(self, project: Project, tag: str) -> None:
        name, value = read_tag(tag)
        erasure = erase_tagged(project.pk, name, value, on_group=partial(_note, project))
        self.stdout.write(
            f"{erasure.views} views and {erasure.traces} traces erased, {erasure.kept_sums} sums and "
            f"{erasure.kept_trees} call trees kept."
        )
        if erasure.kept_sums or erasure.kept_trees:
            raise CommandError("What was kept holds no view id; it goes when its cells expire.", returncode=EXIT_KEPT)
