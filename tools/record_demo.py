"""Records the demo again: builds the shop's releases, and visits them in Chromium.

It writes ops/demo/recordings and ops/demo/maps. It needs Node, npm, openssl and Chromium, and takes about 20
minutes on four quiet cores.
"""

import asyncio
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Final

from tqdm import tqdm

from ops.demo.recordings import DEMO
from ops.demo.story import PAGES, RELEASES
from tools.recording.packing import count_views, pack_build, pack_views, pick_views
from tools.recording.programs import SHOP, ProgramError, build_shop, find_chromium, make_certificate
from tools.recording.site import Builds, IngestServer, serve
from tools.recording.visits import HOSTS, plan_visits, record_visits

VIEWS: Final = 60
VIEWS_A_REPEAT: Final = 12  # of each release and page: four devices, each page first, second and third


def record(folder: Path, output: Path, *, views: int, at_a_time: int) -> None:
    """Visits the releases that are built in a folder, and writes the page views that arrived."""
    plans = plan_visits(-(-views // VIEWS_A_REPEAT))
    endpoint = IngestServer()
    certificate = make_certificate(folder, list(HOSTS))
    with (
        serve(Builds(folder, SHOP / "shop.css"), endpoint, certificate) as port,
        tqdm(total=len(plans), unit="visit", file=sys.stderr) as bar,
    ):
        failures = asyncio.run(
            record_visits(
                plans, chromium=find_chromium(), port=port, endpoint=endpoint, at_a_time=at_a_time, show=bar.update
            )
        )
    for failure in failures:
        print(failure, file=sys.stderr)
    write_recordings(endpoint, output / "recordings")


def write_maps(folder: Path, target: Path) -> None:
    """Writes the scripts and source maps of the releases that are built in a folder."""
    target.mkdir(parents=True, exist_ok=True)
    for release in RELEASES:
        names = [path.relative_to(folder / release).as_posix() for path in (folder / release).rglob("*.js*")]
        (target / f"{release}.tar.gz").write_bytes(pack_build(folder / release, names))


def write_recordings(endpoint: IngestServer, target: Path) -> None:
    """Writes the page views of each release."""
    views = pick_views(endpoint)
    target.mkdir(parents=True, exist_ok=True)
    for release in RELEASES:
        packed = pack_views(view for view in views if view[0]["release"] == release)
        (target / f"{release}.ndjson.gz").write_bytes(packed)
    counts = count_views(views)
    for release in RELEASES:
        for page in PAGES:
            print(f"{release}  {page:16} {counts[release, page]:4} views")


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument(
        "--views", type=int, default=VIEWS, help="recordings per release and page, at least (default: %(default)s)"
    )
    parser.add_argument("--at-a-time", type=int, default=2, help="visits at a time (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=DEMO, help="where to write (default: ops/demo)")
    parser.add_argument("--maps-only", action="store_true", help="build and write the maps, record nothing")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="fieldflame-shop-") as folder:
            if not options.maps_only:
                find_chromium()  # before the build, which takes a while
            build_shop(Path(folder))
            write_maps(Path(folder), options.output / "maps")
            if not options.maps_only:
                record(Path(folder), options.output, views=options.views, at_a_time=options.at_a_time)
    except ProgramError as error:
        raise SystemExit(str(error)) from None
