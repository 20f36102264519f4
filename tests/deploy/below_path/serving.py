"""A real web server below a path, before the test's database, and addresses that lack the path."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User

from config.env import OWN_WORDS
from tests.deploy.files import ROOT
from tests.ingest.sockets.serving import LIMIT_S, WebServer, run_web_server

PATH: Final = "/fieldflame"
PASSWORD: Final = "correct horse battery"
_WORDS: Final = "|".join(sorted(map(re.escape, OWN_WORDS), key=len, reverse=True))
# An address of the server's own that begins where no other path goes before it: `/static/a.js`, `http://here/static/a.js`.
STRAY: Final = re.compile(
    rf"(?:(?<![\w./:*)}}~-])|(?<=127\.0\.0\.1)|(?<=:\d{{5}})|(?<=:\d{{4}}))/(?:{_WORDS})(?=[/?\"'#]|$)[^\"'\s<]*"
)


def find_strays(text: str) -> list[str]:
    """Returns the addresses of the server in a text that are not below its path."""
    return STRAY.findall(text)


@contextmanager
def run_below_path(folder: Path, port: int | None = None, /, **environment: str) -> Iterator[WebServer]:
    """Runs the web server below `PATH`, with its static files. The test's rows must be committed."""
    more = {"FIELDFLAME_PATH": PATH, "FIELDFLAME_STATIC_ROOT": str(folder / "static"), **environment}
    # As an image is built: the files must serve below any path.
    collect = [sys.executable, str(ROOT / "manage.py"), "collectstatic", "--no-input", "--verbosity", "0"]
    subprocess.run(collect, check=True, env={**os.environ, **more, "FIELDFLAME_PATH": ""}, cwd=ROOT)
    with run_web_server(folder, port, FIELDFLAME_WEB_PROCESSES="1", **more) as server:
        yield server


def set_slow_password(user: User) -> None:
    """Gives a user a password that a server of its own can check: the tests' quick hash is unknown there."""
    user.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1)
    user.save(update_fields=["password"])


def log_in(client: httpx.Client, user: User, url_path: str = PATH) -> httpx.Response:
    """Logs in by the form, as a browser does."""
    page = client.get(f"{url_path}/login/")
    [token] = set(re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text))
    fields = {"username": user.username, "password": PASSWORD, "csrfmiddlewaretoken": token}
    return client.post(f"{url_path}/login/", data=fields)


def open_client(port: int) -> httpx.Client:
    """Returns a browser of its own, with its cookies."""
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=LIMIT_S, trust_env=False)


def check_answer(answer: httpx.Response) -> Iterator[str]:
    """Yields what an answer has that does not keep to the path: addresses, headers and cookies."""
    asked = urlsplit(str(answer.url)).path
    for name in ("Location", "HX-Redirect", "HX-Replace-Url", "Link", "Content-Location"):
        path = urlsplit(answer.headers.get(name, "")).path
        if path.startswith("/") and not path.startswith(f"{PATH}/"):
            yield f"{asked}: {name}: {path}"
    for cookie in answer.headers.get_list("Set-Cookie"):
        match = re.search(r"Path=([^;]*)", cookie)
        if match is None or not f"{match[1]}/".startswith(f"{PATH}/") or not cookie.startswith("fieldflame_"):
            yield f"{asked}: Set-Cookie: {cookie.partition('=')[0]} of {match and match[1]}"
    kind = answer.headers.get("Content-Type", "")
    # The paths of the OpenAPI document are relative to its `servers`.
    if ("text" in kind or "json" in kind) and "openapi" not in kind:
        yield from (f"{asked}: {stray}" for stray in find_strays(answer.text))
