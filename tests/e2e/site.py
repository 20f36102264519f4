"""A site with recorded traces behind a server of this process, and who looks at it: quicker than a whole stack."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, ConsoleMessage, Page, Request

from aggregate.label_models import ReleaseScript
from aggregate.models import Func, HotspotPiece, PageView
from dashboard.urls import urlpatterns
from projects.creation import create_project
from projects.models import ApiToken, IngestKey, Membership
from projects.tokens import create_token
from tests.aggregate.posting import fold_all, post
from tests.builders import make_absence, make_hang
from tests.corpus import corpus_envelopes
from tests.e2e.browser import open_page

SLUG = "shopboard"
RELEASE = "1.0.0"


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
class BrowserErrors:
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
    """Makes the project with the recorded traces of one app, its administrator and one member, a token and a script."""
    project, _ = create_project(slug=SLUG, key=SLUG, origins=["*"])
    envelopes = [envelope for app, envelope in corpus_envelopes() if app == SLUG][:views]
    for start in range(0, len(envelopes), 50):
        post(SLUG, *envelopes[start : start + 50])
    fold_all()
    make_absence(project, "no-header", views=12_300, reports=123, page="/product/:id")
    make_absence(project, "csp", views=400, reports=4)
    make_absence(project, "status", views=100, status=413, page="/checkout")
    make_absence(project, "no-api", views=31_000, reports=310, browser="firefox", page="/" + "a-long-name/" * 12)
    func = Func.objects.filter(project=project, uri__startswith="https:").exclude(name="").order_by("id")[0]
    make_hang(
        project, f"at {func.name} ({func.uri}:{func.line}:{func.column})\n    at Array.map (<anonymous>)", count=7
    )
    make_hang(project, f"at {'aLongName' * 12} (https://shop.example/{'folder/' * 15}app.js:1:99999)", release="")
    make_hang(project, "Website owner has not opted in for JS call stacks in crash reports.", count=2)
    make_hang(project, None, reason="oom", page="/" + "a-long-name/" * 12)
    create_token(project=project)
    ReleaseScript.objects.create(
        project=project,
        id=1,
        release=RELEASE,
        uri="https://shop.example/a.js",
        file="a.js",
        is_shared=False,
        uploaded_at=timezone.now(),
    )
    admin = User.objects.create_superuser("admin", password="correct horse battery")
    Membership.objects.create(project=project, user=admin, role=Membership.Role.ADMIN)
    Membership.objects.create(project=project, user=User.objects.create_user("member"))
    return admin


@contextmanager
def open_as(
    browser: Browser, url: str, user: User, look: Look, *, java_script_enabled: bool = True
) -> Iterator[tuple[Page, BrowserErrors]]:
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
        errors = BrowserErrors()
        page.on("console", errors.add_console)
        page.on("pageerror", lambda error: errors.complaints.append(str(error)))
        page.on("requestfailed", errors.add_failure)
        yield page, errors


def page_addresses(user: User) -> list[tuple[str, str]]:
    """Returns (url name, address) of every page of the site. Parts of pages, the API and posts are not among them."""
    piece = HotspotPiece.objects.order_by("-self_us").first()
    view = PageView.objects.order_by("-js_us").first()
    assert piece is not None
    assert view is not None
    values: dict[str, object] = {
        "slug": SLUG,
        "func_id": piece.func_ids[0],
        "view_id": view.view_id,
        "key_id": IngestKey.objects.get().pk,
        "member_id": Membership.objects.exclude(user=user).get().pk,
        "user_id": User.objects.get(username="member").pk,
        "prefix": ApiToken.objects.get().prefix,
    }
    client = Client()
    client.force_login(user)
    addresses = []
    for pattern in urlpatterns:
        names = pattern.pattern.converters
        if not pattern.name or "api/" in str(pattern.pattern) or not set(names) <= set(values):
            continue
        address = reverse(pattern.name, kwargs={name: values[name] for name in names})
        for query in ("", f"?release={RELEASE}"):  # some are of a release, and say so
            answer = client.get(address + query)
            is_page = answer.status_code == 200 and not answer.streaming
            if is_page and answer.content.startswith(b"<!doctype html>"):
                addresses.append((pattern.name, address + query))
                break
    return addresses
