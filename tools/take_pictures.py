"""Takes the pictures of the README and the documents: the story of the demo, in both themes.

They are taken from a running Fieldflame with the demo. It needs Chromium.
"""

import os
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from django.conf import settings
from playwright.sync_api import Browser, Page, sync_playwright

from config.env import read_str
from ops.demo.story import RELEASES, SLUG
from ops.supervisor.folder import DataFolder
from tools.recording.programs import ProgramError, find_chromium

IMAGES: Final = Path(settings.BASE_DIR) / "docs" / "images"
THEMES: Final[Sequence[Literal["light", "dark"]]] = ("light", "dark")
WIDTH: Final = 1440
HEIGHT: Final = 900
SETTLE_MS: Final = 800  # a canvas is drawn soon after its data came
LIMIT_MS: Final = 120_000.0


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: its name, the address of the page, and a heading to begin at (empty: the top of the page)."""

    name: str
    path: str
    heading: str = ""


def list_pictures(page: Page, api: str) -> list[Picture]:
    """Returns the pictures of the story. The read API says which function, page and view they show."""
    before, after = RELEASES[0], RELEASES[1]
    sides = f"base_release={before}&head_release={after}"
    source = f"release={after}&source_base={before}&source_view=changes"
    verdict = page.request.get(f"{api}verdict?{sides}").json()
    route, culprit = verdict["page"], verdict["culprits"][0]["id"]
    views = page.request.get(f"{api}views?release={after}&page={route}&order=typical&limit=1").json()
    return [
        Picture("overview", ""),
        Picture("verdict", f"compare/?{sides}"),
        Picture("culprit", f"functions/{culprit}/?page={route}"),
        Picture("source", f"functions/{culprit}/?page={route}&{source}", "Source"),
        Picture("flame", f"flame-graph/?release={after}&page={route}"),
        Picture("flame-change", f"flame-graph/?{sides}&page={route}"),
        Picture("timeline", f"views/{views['views'][0]['view']}/"),
    ]


def take_pictures(
    browser: Browser, *, url: str, user: str, password: str, folder: Path, names: Sequence[str] = ()
) -> Iterator[Path]:
    """Takes all pictures, or those with these names, in each theme; yields the files."""
    folder.mkdir(parents=True, exist_ok=True)
    for theme in THEMES:
        context = browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme=theme)
        context.set_default_timeout(LIMIT_MS)
        try:
            page = context.new_page()
            log_in(page, url, user, password)
            for picture in list_pictures(page, f"{url}/api/v1/projects/{SLUG}/"):
                if not names or picture.name in names:
                    yield take_picture(page, f"{url}/projects/{SLUG}/", picture, folder / f"{picture.name}-{theme}.png")
        finally:
            context.close()


def log_in(page: Page, url: str, user: str, password: str) -> None:
    page.goto(f"{url}/login/")
    page.fill("[name=username]", user)
    page.fill("[name=password]", password)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda address: "/login/" not in address)


def take_picture(page: Page, base: str, picture: Picture, path: Path) -> Path:
    """Writes one picture of the window, when all parts of its page are there."""
    page.goto(base + picture.path)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(SETTLE_MS)
    if picture.heading:
        heading = page.get_by_role("heading", name=picture.heading, exact=True)
        heading.evaluate("heading => heading.closest('section').scrollIntoView({block: 'start'})")
    path.write_bytes(page.screenshot())
    return path


def read_password() -> str:
    """Returns the password of the environment, or of the first user of the data folder."""
    kept = DataFolder(settings.DATA_DIR).admin_password
    password = os.environ.get("FIELDFLAME_PASSWORD") or (kept.read_text().strip() if kept.exists() else "")
    if not password:
        raise SystemExit(f"No password: set FIELDFLAME_PASSWORD, or FIELDFLAME_DATA to the folder with {kept.name}.")
    return password


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these pictures (default: all)")
    parser.add_argument("--url", default=read_str("FIELDFLAME_URL", "http://127.0.0.1:8000"), help="the dashboard")
    parser.add_argument("--user", default="admin", help="the login (default: %(default)s)")
    parser.add_argument("--output", type=Path, default=IMAGES, help="the folder (default: docs/images)")
    options = parser.parse_args()
    password = read_password()
    try:
        chromium = find_chromium()
    except ProgramError as error:
        raise SystemExit(str(error)) from None
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, chromium_sandbox=os.geteuid() != 0)
        pictures = take_pictures(
            browser,
            url=options.url,
            user=options.user,
            password=password,
            folder=options.output,
            names=options.names,
        )
        for path in pictures:
            print(f"{path}  {path.stat().st_size / 1000:.0f} kB")
        browser.close()
