"""Below a path, every page, part, file and answer names addresses that are below it too, and they answer."""

import json
import re
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from django.contrib.auth.models import User

from projects.models import Project
from projects.tokens import create_token
from tests.dashboard.web.addresses import API, API_ADDRESSES
from tests.deploy.below_path.serving import (
    PATH,
    check_answer,
    find_strays,
    log_in,
    open_client,
    run_below_path,
    set_slow_password,
)
from tests.e2e.site import SLUG, fill_site, page_addresses
from tests.envelopes import make_envelope
from tests.ingest.sockets.serving import WebServer

pytestmark = [pytest.mark.stack, pytest.mark.slow(60), pytest.mark.django_db(transaction=True)]

LEAST_PAGES: Final = 20
LEAST_FOLLOWED: Final = 60
FOLLOWED: Final = ("href", "src", "hx-get")  # and each attribute whose name says that it is an address


class Links(HTMLParser):
    """The addresses that a page asks for by GET: links, files, parts, and what its scripts fetch."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value and (name in FOLLOWED or re.fullmatch(r"data-.*(url|link|href)", name)):
                self.found.append(value)
            if value and name == "action" and dict(attrs).get("method", "get") == "get":
                self.found.append(value)


def list_links(answer: httpx.Response) -> Iterator[str]:
    """Yields the addresses of this host in a page, without their fragments."""
    links = Links()
    links.feed(answer.text)
    for link in links.found:
        parts = urlsplit(urljoin(str(answer.url), unescape(link)))
        if parts.netloc == answer.url.netloc.decode() and "/functions/ID/" not in parts.path:
            yield parts._replace(fragment="").geturl()


def walk(client: httpx.Client, addresses: list[str]) -> tuple[list[str], int]:
    """Asks for some pages, and once for each path that they lead to; returns what is wrong, and the count of all."""
    faults: list[str] = []
    seen = {urlsplit(address).path for address in addresses}
    waiting = list(addresses)
    for address in waiting:
        answer = client.get(address)
        faults += check_answer(answer)
        if answer.status_code >= 400 and answer.status_code != 405:  # what scripts post to is there
            faults.append(f"{address} answered {answer.status_code}")
        if "html" in answer.headers.get("Content-Type", ""):
            for link in list_links(answer):
                path = urlsplit(link).path
                if not path.startswith(f"{PATH}/"):
                    faults.append(f"{address} leads to {path}")
                elif path not in seen and address in addresses:
                    seen.add(path)
                    waiting.append(link)
    return faults, len(waiting)


@pytest.mark.nightly
def test_every_page_and_answer_keeps_to_the_path(tmp_path: Path) -> None:
    user = fill_site()
    set_slow_password(user)
    pages = [PATH + address for _, address in page_addresses(user)]
    assert len(pages) >= LEAST_PAGES
    pages.append(f"{PATH}/api/v1/docs")
    with run_below_path(tmp_path) as server:
        faults = list(check_login(server, user))
        with open_client(server.port) as client:
            log_in(client, user)
            found, count = walk(client, pages)
            assert count >= LEAST_FOLLOWED
            faults += found
            faults += check_forms(client, server)
        faults += check_api(server)
        faults += check_without_the_path(server)
        assert server.post(SLUG, "by its address without the path") == 202
    assert faults == []


def check_login(server: WebServer, user: User) -> Iterator[str]:
    """Comes as a stranger: to the root, to the login, and back to the page that was asked for."""
    with open_client(server.port) as client:
        for asked, leads_to in (("", "/projects/"), ("/", "/projects/"), ("/projects", "/projects/")):
            answer = client.get(PATH + asked)
            yield from check_answer(answer)
            assert (answer.status_code // 100, answer.headers["Location"]) == (3, PATH + leads_to)
        refused = client.get(f"{PATH}/projects/{SLUG}/")
        assert refused.headers["Location"] == f"{PATH}/login/?next={PATH}/projects/{SLUG}/"
        part = client.get(f"{PATH}/projects/{SLUG}/functions/table/", headers={"HX-Request": "true"})
        assert part.headers["HX-Redirect"] == f"{PATH}/login/?next=%2Ffieldflame%2F"
        answer = log_in(client, user)
        yield from check_answer(answer)
        assert answer.headers["Location"] == f"{PATH}/projects/"
        assert {cookie.name for cookie in client.cookies.jar} == {"fieldflame_sessionid", "fieldflame_csrftoken"}
        # The cookies of an application at the host's root change nothing here.
        others = {"Cookie": f"fieldflame_sessionid={client.cookies['fieldflame_sessionid']}; sessionid=other"}
        assert client.get(f"{PATH}/projects/", headers=others).status_code == 200


def check_forms(client: httpx.Client, server: WebServer) -> Iterator[str]:
    """Posts what pages post: a saved view, and a shared link, which a guest opens."""
    project = f"{PATH}/projects/{SLUG}/"
    page = client.get(f"{project}functions/")
    token = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)[0]
    fields = {"csrfmiddlewaretoken": token, "name": "Mine", "address": f"{project}functions/?page=/"}
    saved = client.post(f"{project}saved/", data=fields)
    assert (saved.status_code, saved.headers["Location"]) == (302, f"{project}functions/?page=/"), saved.text
    shared = client.post(f"{project}share/", data={"csrfmiddlewaretoken": token, "page": f"{project}functions/"})
    yield from [*check_answer(saved), *check_answer(shared)]
    [link] = set(re.findall(rf"http://127\.0\.0\.1:{server.port}{PATH}/shared/ffs_[\w-]+/", unescape(shared.text)))
    with open_client(server.port) as guest:
        opened = guest.get(link)
        yield from check_answer(opened)
        area = opened.headers["Location"]
        assert area.startswith(f"{PATH}/shared/")
        shown = guest.get(area)
        assert shown.status_code == 200
        yield from check_answer(shown)
        for address in list_links(shown):
            if guest.get(address).status_code >= 400:
                yield f"a guest's page leads to {address}"
            if "/projects/" in address and "/shared/" not in address and "/login/" not in address:
                yield f"a guest's page leads out to {address}"


def check_api(server: WebServer) -> Iterator[str]:
    """Asks the read API with a token, and makes a link to an export, which anybody may open."""
    _, token = create_token(project=Project.objects.get(slug=SLUG))
    with open_client(server.port) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        for address in API_ADDRESSES:
            yield from check_answer(client.get(PATH + address.replace(API, f"/api/v1/projects/{SLUG}/")))
        api = f"{PATH}/api/v1/projects/{SLUG}/"
        job = client.post(f"{api}jobs", json={"kind": "functions", "params": {}})
        link = client.post(f"{api}links", json={"params": {"format": "firefox"}})
        types = client.post(f"{api}querier.v1.QuerierService/ProfileTypes", json={})
        for answer in (job, link, types):
            assert answer.status_code in (200, 201, 202), answer.text
            yield from check_answer(answer)
        assert job.json()["url"].startswith(api)
        assert link.json()["url"].startswith(f"http://127.0.0.1:{server.port}{PATH}/api/v1/shared/")
        assert httpx.get(link.json()["url"], trust_env=False).status_code == 200
        document = client.get(f"{PATH}/api/v1/schema").json()
        assert document["servers"] == [{"url": PATH}]
        assert document["components"]["securitySchemes"]["cookieAuth"]["name"] == "fieldflame_sessionid"


def check_without_the_path(server: WebServer) -> Iterator[str]:
    """Asks as a proxy does that strips the path, and as monitors of this machine do. The answers are those with it."""
    with open_client(server.port) as client:
        for asked in ("/login/", "/healthz", f"{PATH}/healthz", "/snippet.js", f"{PATH}/metrics"):
            answer = client.get(asked)
            yield from check_answer(answer)
            if answer.status_code != 200:
                yield f"{asked} answered {answer.status_code}"
        missing = client.get(f"{PATH}x/login/")
        yield from check_answer(missing)
        assert (missing.status_code, f'href="{PATH}/' in missing.text) == (404, True)
        snippets = [client.get(f"{PATH}/{name}").text for name in ("snippet.js", f"snippet/{SLUG}.js")]
        for snippet in snippets:
            [endpoint] = re.findall(r"[\"'`](/[^\"'`]*ingest/v1/traces)", snippet)
            body = json.dumps(make_envelope(f"a{len(snippet)}")).encode()
            answer = client.post(f"{endpoint}?key={SLUG}", content=body)
            assert (endpoint, answer.status_code) == (f"{PATH}/ingest/v1/traces", 202)
        assert client.get(f"http://127.0.0.1:{server.port}/{PATH}//ingest/v1/traces/").status_code == 405
        assert client.post(f"{PATH}/ingest/v1/nothing").headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize(
    ("text", "strays"),
    [
        ('<a href="/projects/shop/">', ["/projects/shop/"]),
        ("fetch('/api/v1/projects')", ["/api/v1/projects"]),
        ("http://127.0.0.1:8000/ingest/v1/traces?key=k", ["/ingest/v1/traces?key=k"]),
        ('<a href="/login">', ["/login"]),
        ('"/fieldflame/projects/" https://shop.example/static/a.js ../snippet.js', []),
    ],
)
def test_addresses_without_the_path_are_seen(text: str, strays: list[str]) -> None:
    assert find_strays(text) == strays
