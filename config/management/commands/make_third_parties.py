"""Updates the list of known third parties from an npm archive that was fetched by hand."""

from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from profcore.code.parties import LIST_NAME, pack_list


class Command(BaseCommand):
    help = (
        "Write profcore/data/third_parties.json from the archive of the npm package third-party-web: "
        "`npm pack third-party-web`, and for --integrity `npm view third-party-web dist.integrity`."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("archive", type=Path, help="the .tgz that npm packed")
        parser.add_argument("--integrity", required=True, help="its digest in the registry: sha512-…")

    def handle(self, *args: object, **options: object) -> None:
        archive, integrity = options["archive"], options["integrity"]
        assert isinstance(archive, Path)  # argparse saw to it
        assert isinstance(integrity, str)
        try:
            packed = pack_list(archive.read_bytes(), integrity=integrity)
        except (OSError, ValueError) as error:
            raise CommandError(str(error)) from error
        target = Path(settings.BASE_DIR) / "profcore" / "data" / LIST_NAME
        target.write_bytes(packed)
        self.stdout.write(f"{target.name}: {len(packed)} bytes")
