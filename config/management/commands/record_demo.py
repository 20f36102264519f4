"""Records the demo anew: builds the shop, visits it in Chromium, and writes config/demo/recordings and maps."""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from config.demo.recording.packing import count_views, pack_build, pack_views, pick_views
from config.demo.recording.programs import SHOP, ProgramError, build_shop, find_chromium, make_certificate
from config.demo.recording.site import Builds, Door, serve
from config.demo.recording.visits import HOSTS, plan_visits, record_visits
from config.demo.story import PAGES, RELEASES

DEMO: Final = Path(__file__).resolve().parents[2] / "demo"
VIEWS: Final = 60
VIEWS_A_REPEAT: Final = 12  # of each release and page: four devices, each page first, second and third


class Command(BaseCommand):
    help = (
        "Record the demo anew: build the shop's releases, visit them in Chromium, and write config/demo/recordings and "
        "config/demo/maps. Needs Node, npm, openssl and Chromium. Takes about 20 minutes on four quiet cores."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--views", type=int, default=VIEWS, help="recordings per release and page, at least (default: %(default)s)"
        )
        parser.add_argument("--at-a-time", type=int, default=2, help="visits at a time (default: %(default)s)")
        parser.add_argument("--output", type=Path, default=DEMO, help="where to write (default: config/demo)")
        parser.add_argument("--maps-only", action="store_true", help="build and write the maps, record nothing")

    def handle(self, *args: object, **options: Any) -> None:  # Any: argparse's values
        try:
            with tempfile.TemporaryDirectory(prefix="fieldflame-shop-") as folder:
                self.record(Path(folder), options)
        except ProgramError as error:
            raise CommandError(str(error)) from None

    def record(self, folder: Path, options: dict[str, Any]) -> None:
        chromium = "" if options["maps_only"] else find_chromium()
        build_shop(folder)
        self.write_maps(folder, options["output"] / "maps")
        if options["maps_only"]:
            return
        plans = plan_visits(-(-options["views"] // VIEWS_A_REPEAT))
        door = Door()
        certificate = make_certificate(folder, list(HOSTS))
        with (
            serve(Builds(folder, SHOP / "shop.css"), door, certificate) as port,
            tqdm(total=len(plans), unit="visit", file=sys.stderr) as bar,
        ):
            failures = asyncio.run(
                record_visits(
                    plans,
                    chromium=chromium,
                    port=port,
                    door=door,
                    at_a_time=options["at_a_time"],
                    show=bar.update,
                )
            )
        for failure in failures:
            self.stderr.write(failure)
        self.write_recordings(door, options["output"] / "recordings")

    def write_maps(self, folder: Path, target: Path) -> None:
        target.mkdir(parents=True, exist_ok=True)
        for release in RELEASES:
            names = [path.relative_to(folder / release).as_posix() for path in (folder / release).rglob("*.js*")]
            (target / f"{release}.tar.gz").write_bytes(pack_build(folder / release, names))

    def write_recordings(self, door: Door, target: Path) -> None:
        views = pick_views(door)
        target.mkdir(parents=True, exist_ok=True)
        for release in RELEASES:
            packed = pack_views(view for view in views if view[0]["release"] == release)
            (target / f"{release}.ndjson.gz").write_bytes(packed)
        counts = count_views(views)
        for release in RELEASES:
            for page in PAGES:
                self.stdout.write(f"{release}  {page:16} {counts[release, page]:4} views")
