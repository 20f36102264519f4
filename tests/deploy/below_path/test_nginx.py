"""The shipped nginx below a path: of a site that it serves already, and alone, as compose runs it."""

import http.client
import json
import os
import re
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pytest
from django.contrib.auth.models import User

from ops.loopback import serve_on_loopback
from projects.creation import create_project
from tests.deploy.below_path.serving import PATH, check_answer, log_in, open_client, run_below_path, set_slow_password
from tests.deploy.files import NGINX, read_services
from tests.deploy.proxy import Proxy, run_proxy
from tests.envelopes import make_envelope

pytestmark = [pytest.mark.stack, pytest.mark.slow(30), pytest.mark.django_db(transaction=True)]

MIB = 2**20
# A site with files of its own, whose extension is also that of ours.
SITE = """
server {
    listen 80;
    server_name _;
    access_log %(log)s/site.log;
    location / { return 200 "the site"; }
    location ~ \\.js$ { return 200 "the site's script"; }
    %(line)s
}
"""


def read_line() -> str:
    """Returns the line for a site's own `server`, which the shipped file shows."""
    text = (NGINX / "fieldflame-path.conf").read_text(encoding="utf-8")
    [line] = re.findall(r"^#     (location .*)$", text, re.MULTILINE)
    return str(line)


def read_start(folder: Path) -> str:
    """Returns what the start of compose's proxy writes for the path."""
    script = read_services()["proxy"]["entrypoint"][2].replace("$$", "$").rpartition(" && ")[0]
    made = folder / "start.conf"
    script = script.replace("/etc/resolv.conf", "/dev/null").replace("/tmp/start.conf", str(made))
    subprocess.run(["/bin/sh", "-c", script], check=True, env={**os.environ, "FIELDFLAME_PATH": PATH})
    return made.read_text(encoding="utf-8")


def check_proxy(proxy: Proxy, user: User) -> Iterator[str]:
    """Yields what is wrong with a page, its files, the snippet, a post by it, and a login."""
    with open_client(proxy.plain_port) as client:
        page = client.get(f"{PATH}/login/")
        yield from check_answer(page)
        files = re.findall(r'(?:href|src)="([^"]+\.(?:css|js|svg))"', page.text)
        assert files
        for file in files:
            answer = client.get(file)
            if answer.status_code != 200 or "immutable" not in answer.headers.get("Cache-Control", ""):
                yield f"{file} answered {answer.status_code}"
        answer = log_in(client, user)
        yield from check_answer(answer)
        assert (answer.status_code, answer.headers["Location"]) == (302, f"{PATH}/projects/")
        projects = client.get(answer.headers["Location"])
        yield from check_answer(projects)
        assert projects.status_code == 200
        keys = client.get(f"{PATH}/projects/shop/settings/keys/")
        [snippet] = set(re.findall(rf"http://127\.0\.0\.1:{proxy.plain_port}{PATH}/snippet/shop\.js", keys.text))
        yield from check_post(client, snippet)
        yield from check_limits(client)


def check_post(client: httpx.Client, snippet: str) -> Iterator[str]:
    """Posts to the address that the snippet has."""
    text = client.get(snippet).text
    [endpoint] = re.findall(r"[\"'`](/[^\"'`]*ingest/v1/traces)", text)
    body = json.dumps(make_envelope(f"by {client.base_url}")).encode()
    answer = client.post(f"{endpoint}?key=shop", content=body, headers={"Content-Type": "text/plain"})
    if (endpoint, answer.status_code) != (f"{PATH}/ingest/v1/traces", 202):
        yield f"a post to {endpoint} was answered {answer.status_code}"


def check_limits(client: httpx.Client) -> Iterator[str]:
    """Asks where the proxy has limits of its own: they hold below the path too."""
    # The proxy closes a connection after it refused a body: the next request must not find it open still.
    alone = {"Connection": "close"}
    large = client.post(f"{PATH}/ingest/v1/traces?key=shop", content=b"x" * 6 * MIB, headers=alone)
    if (large.status_code, large.headers.get("Access-Control-Allow-Origin")) != (413, "*"):
        yield f"a large post was answered {large.status_code}"
    for address, size, is_refused in (
        ("/projects/shop/import/", 8 * MIB, False),
        ("/api/v1/projects/shop/sourcemaps", 8 * MIB, False),  # the app refuses it, since it is no form
        ("/projects/shop/", 2 * MIB, True),
    ):
        answer = client.post(PATH + address, content=b"x" * size, headers=alone)
        if (answer.status_code == 413 and "nginx" in answer.text) != is_refused:
            yield f"{size} bytes to {address} were answered {answer.status_code}: {answer.text[:200]}"
    if client.get(f"{PATH}/metrics").status_code != 404:
        yield "the metrics are public"


def test_the_shipped_nginx_serves_it_below_a_path(tmp_path: Path) -> None:
    create_project(slug="shop", key="shop", origins=["*"])
    user = User.objects.create_superuser("admin")
    set_slow_password(user)
    site = SITE % {"line": read_line(), "log": tmp_path / "site" / "log"}
    with (
        run_below_path(tmp_path, FIELDFLAME_BEHIND_PROXY="1") as server,
        run_proxy(tmp_path / "site", "fieldflame-path.conf", server.port, site=site) as below_site,
        run_proxy(tmp_path / "alone", "compose.conf", server.port, start=read_start(tmp_path)) as alone,
    ):
        faults = [*check_proxy(below_site, user), *check_proxy(alone, user)]
        with open_client(below_site.plain_port) as client:
            assert client.get("/").text == client.get("/projects/").text == client.get(f"{PATH}s/").text == "the site"
            assert client.get(PATH).headers["Location"].endswith(f"{PATH}/")
        with open_client(alone.plain_port) as client:  # by a proxy in front that strips the path
            assert check_stripped(client) == []
    assert faults == []
    assert "key=" not in below_site.read_log("site.log") + below_site.read_log("access.log")
    assert "/login/" not in below_site.read_log("site.log")
    assert "POST /login/ 302" in below_site.read_log("access.log")


def test_the_app_gets_the_true_address_but_none_with_traces(tmp_path: Path) -> None:
    """Also through the two servers of one nginx."""
    asked: list[tuple[str, list[str] | None, str | None]] = []

    class App(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            forwarded, scheme = self.headers.get_all("X-Forwarded-For"), self.headers["X-Forwarded-Proto"]
            asked.append((self.path, forwarded, scheme))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Says nothing."""

    site = SITE % {"line": read_line(), "log": tmp_path / "site" / "log"}
    with serve_on_loopback(App) as port, run_proxy(tmp_path / "site", "fieldflame-path.conf", port, site=site) as proxy:
        for path in ("/login/?a=b", "/ingest/v1/traces?key=k", "/api/v1/projects/a%20b/status"):
            visitor = http.client.HTTPConnection("127.0.0.1", proxy.plain_port, 60, source_address=("127.0.0.2", 0))
            visitor.request("GET", PATH + path, headers={"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": "https"})
            assert visitor.getresponse().status == 204
            visitor.close()
    assert asked == [
        ("/login/?a=b", ["127.0.0.2"], "https"),
        ("/ingest/v1/traces?key=k", None, "https"),
        ("/api/v1/projects/a%20b/status", ["127.0.0.2"], "https"),
    ]


def check_stripped(client: httpx.Client) -> list[str]:
    answer = client.get("/login/")
    return [*check_answer(answer), *([] if answer.status_code == http.client.OK else ["no login"])]
