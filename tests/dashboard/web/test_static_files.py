"""The dashboard's own scripts and styles stay small: to send, and to read."""

import gzip
import hashlib
import json
from pathlib import Path

import dashboard

STATIC = Path(dashboard.__file__).parent / "static" / "dashboard"
# Of all pages together; one loads about a third. The libraries in vendor/ are 39,000 of it.
MAX_PACKED_BYTES = 165_000
MAX_LINES = 350


def test_all_scripts_and_styles_together_are_small_to_send() -> None:
    files = [path for path in STATIC.rglob("*") if path.suffix in {".js", ".css"}]
    assert len(files) > 10
    assert sum(len(gzip.compress(path.read_bytes())) for path in files) < MAX_PACKED_BYTES


def test_what_other_people_wrote_is_as_they_published_it() -> None:
    vendored = STATIC / "vendor"
    rows = json.loads((vendored / "vendored.json").read_text())
    files = {path.name for path in vendored.iterdir() if path.suffix in {".js", ".css"}}
    assert files == set(rows)
    for name, row in rows.items():
        assert hashlib.sha256((vendored / name).read_bytes()).hexdigest() == row["sha256"], name
        assert row["version"]
        assert (vendored / f"{name.split('.')[0]}.LICENSE").read_text()


def test_every_script_is_short_enough_to_read() -> None:
    lines = {path.name: path.read_text().count("\n") for path in STATIC.rglob("*.js") if ".min." not in path.name}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}
