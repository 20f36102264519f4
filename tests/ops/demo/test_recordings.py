"""The recordings that are shipped: enough of each release, page and device, and small enough."""

import gzip
from collections import Counter

import pytest

from ingest.limits import envelope_limits
from ops.demo.recordings import FOLDER, MAPS, read_recordings
from ops.demo.resampling import DEVICE_SHARES, PAGE_SHARES
from ops.demo.story import PAGES, RELEASES, SHOP_HOST, TAG_HOST
from profcore.trace.wire import check_posted, decode_envelope

LEAST_VIEWS = 60
MOST_BYTES = 4_000_000


@pytest.mark.parametrize("release", RELEASES)
def test_the_endpoint_takes_every_recording(release: str) -> None:
    lines = gzip.decompress((FOLDER / f"{release}.ndjson.gz").read_bytes()).splitlines()
    for line in lines:
        envelope = decode_envelope(line, envelope_limits())
        check_posted(envelope)
        assert (envelope.release, str(envelope.url).split("/")[2]) == (release, SHOP_HOST)
    assert len(lines) > LEAST_VIEWS * len(PAGES)


def test_each_page_of_each_release_was_recorded_often_enough_on_every_device() -> None:
    recordings = read_recordings()
    views = Counter((one.release, one.page) for one in recordings)
    assert set(views) == {(release, page) for release in RELEASES for page in PAGES}
    assert min(views.values()) >= LEAST_VIEWS
    devices = Counter((one.release, one.page, one.device) for one in recordings)
    assert min(devices[release, page, device] for release, page in views for device in DEVICE_SHARES) >= LEAST_VIEWS / 8
    assert set(PAGE_SHARES) == set(PAGES)


def test_only_the_newest_release_ran_the_tag_of_the_vendor() -> None:
    has_tag = {
        release: TAG_HOST.encode() in gzip.decompress((FOLDER / f"{release}.ndjson.gz").read_bytes())
        for release in RELEASES
    }
    assert has_tag == {"1.0.0": False, "1.1.0": False, "1.2.0": True}


def test_the_files_are_small_enough_to_ship() -> None:
    assert sum(path.stat().st_size for path in (*FOLDER.iterdir(), *MAPS.iterdir())) < MOST_BYTES
