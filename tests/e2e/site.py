"""A site with recorded traces behind a server of this process, and who looks at it: quicker than a whole stack."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLPattern, reverse
from playwright.sync_api import Browser, ConsoleMessage, Page, Request

from aggregate.models import Hotspot, View
from dashboard.urls import urlpatterns
from ingest.services import create_project
from tests.aggregate.posting import fold_all, post
from tests.corpus import corpus_envelopes
from tests.e2e.browser import open_page

SLUG = "shopboard"
# Playwright keeps an event loop in the tests' thread, and Django would refuse its database there.
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"


@dataclass(frozen=True)
class Look:
    """How somebody looks at the pages."""

    theme: str
    width: int

    @property
    def name(self) -> str:
        return f"{self.theme}-{self.width}"


LOOKS: Sequence[Look] = (Look("light", 1200), Look("dark", 1200), Look("light", 390))


@dataclass
class Watch:
    """What a browser complained of: errors of scripts, of the policy, of the network."""

    complaints: list[str] = field(default_factory=list)

    def add_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(f"{message.location.get('url', '')}: {message.text}")

    def add_failure(self, request: Request) -> None:
        # What is still on its way when the page is left is no failure.
        if request.failure != "net::ERR_ABORTED":
            self.complaints.append(f"{request.url}: {request.failure}")


def fill_site(*, views: int | None = None) -> User:
    """Makes the project with the recorded traces of one app, and its administrator."""
    create_project(slug=SLUG, key=SLUG, origins=["*"])
    envelopes = [envelope for app, envelope in corpus_envelopes() if app == SLUG][:views]
    for start in range(0, len(envelopes), 50):
        post(SLUG, *envelopes[start : start + 50])
    fold_all()
    return User.objects.create_superuser("admin", password="correct horse battery")


@contextmanager
def open_as(
    browser: Browser, url: str, user: User, look: Look, *, java_script_enabled: bool = True
) -> Iterator[tuple[Page, Watch]]:
    """Opens a page with the user's session. What the browser complains of is collected."""
    client = Client()
    client.force_login(user)
    height = 844 if look.width < 700 else 900
    size = {"width": look.width, "height": height}
    with open_page(
        browser,
        viewport=size,
        color_scheme=look.theme,
        has_touch=look.width < 700,
        java_script_enabled=java_script_enabled,
    ) as page:
        session = client.cookies["sessionid"]
        page.context.add_cookies([{"name": session.key, "value": session.value, "url": url}])
        watch = Watch()
        page.on("console", watch.add_console)
        page.on("pageerror", lambda error: watch.complaints.append(str(error)))
        page.on("requestfailed", watch.add_failure)
        yield page, watch


def page_addresses() -> list[tuple[str, str]]:
    """Returns (url name, path) of every page of the site, without the API's."""
    hotspot = Hotspot.objects.order_by("-self_us").first()
    view = View.objects.order_by("-js_us").first()
    assert hotspot is not None
    assert view is not None
    values: dict[str, object] = {"slug": SLUG, "func_id": hotspot.func_id, "view_id": view.view_id, "part": "cost"}
    addresses = []
    for pattern in urlpatterns:
        if not isinstance(pattern, URLPattern) or not pattern.name or "api/" in str(pattern.pattern):
            continue
        names = pattern.pattern.converters
        addresses.append((pattern.name, reverse(pattern.name, kwargs={name: values[name] for name in names})))
    return addresses
