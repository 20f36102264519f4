"""The image, built and started: it is not root, its bytecode is there, and a trace that is posted to it is folded."""

import json
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from config.env import read_database
from ops.supervisor.running import find_free_port
from tests.deploy.containers.building import Builder, Container, require_builders, run_container
from tests.deploy.containers.relay import relay
from tests.envelopes import make_envelope
from tests.runner.servers import Stores, run_stores
from tests.runner.waiting import wait_until

pytestmark = pytest.mark.slow(400)
LIMIT_S = 600.0
START, PYTHON = "/opt/fieldflame/deploy/start", "/opt/fieldflame/.venv/bin/python"
COUNT_UNCOMPILED = """
import importlib.util, pathlib
root = pathlib.Path("/opt/fieldflame")
folders = ("config", "ops", "profcore", "projects", "ingest", "aggregate", "alerts", "dashboard", ".venv/lib")
sources = [path for folder in folders for path in (root / folder).rglob("*.py")]
compiled = [pathlib.Path(importlib.util.cache_from_source(path)) for path in sources]
there = [path for path in compiled if path.exists()]
print(len(sources), len(sources) - len(there), len([path for path in there if path.read_bytes()[4] != 1]))
"""


@pytest.fixture(scope="module")
def builder() -> Iterator[Builder]:
    require_builders()
    folder = Path(tempfile.mkdtemp(prefix="fieldflame-image-"))
    built = Builder(folder)
    built.prepare()
    try:
        built.make_base()
        built.build()
        yield built
        built.run("rm", "--all")
        built.run("rmi", "--all", "--force")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def stores() -> Iterator[Stores]:
    with run_stores() as running:
        yield running


@pytest.fixture(scope="module")
def container(builder: Builder, stores: Stores) -> Iterator[Container]:
    """A container whose stores are empty ones, by TCP, as those of other hosts."""
    database = read_database("DATABASE_URL", "", stores.addresses)
    sockets = Path(str(database["HOST"])) / ".s.PGSQL.5432", Path(urlsplit(stores.addresses["REDIS_URL"]).path)
    with relay(*sockets) as (postgres, valkey):
        login = f"{database['USER']}:{database['PASSWORD']}"
        environment = {
            "DATABASE_URL": f"postgresql://{login}@127.0.0.1:{postgres}/{database['NAME']}",
            "REDIS_URL": f"redis://127.0.0.1:{valkey}/0",
            "FIELDFLAME_SECRET_KEY": "of tests",
            "FIELDFLAME_HOST": "127.0.0.1",
            "FIELDFLAME_PORT": str(find_free_port()),
            "FIELDFLAME_WEB_PROCESSES": "1",
            "FIELDFLAME_WEB_CONNECTIONS": "100",
            "FIELDFLAME_WORKER_PROCESSES": "1",
        }
        with run_container(builder, environment) as running:
            yield running


def ask(url: str, *, body: bytes | None = None, token: str = "") -> tuple[int, Any]:  # Any: JSON
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers), timeout=60) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, None
    except (OSError, ValueError):
        return 0, None


def test_its_settings_are_those_of_the_recipe(builder: Builder) -> None:
    settings = builder.read_settings()
    assert settings["User"] == "10001:10001"
    assert settings["Entrypoint"] == [START]
    assert settings["Healthcheck"]["Test"][-1] == "/opt/fieldflame/deploy/check_health.py"


def test_its_user_cannot_change_the_code_and_finds_it_compiled(container: Container) -> None:
    assert container.run("id", "-u").stdout.strip() == "10001"
    assert container.run("touch", "/opt/fieldflame/config/new").returncode != 0
    compiled, *missing = map(int, container.run(PYTHON, "-c", COUNT_UNCOMPILED).stdout.split())
    assert compiled > 3_000
    assert missing == [0, 0]  # and none depends on the time of its source


def test_the_secrets_of_the_build_left_nothing(container: Container) -> None:
    assert container.run("sh", "-c", "ls /etc/pip.conf /etc/uv /.cargo /run/secrets").stdout == ""


def test_a_trace_that_is_posted_to_it_is_folded_and_read(container: Container, tmp_path: Path) -> None:
    done = container.run(START, "migrate")
    assert done.returncode == 0, done.stderr
    url = f"http://127.0.0.1:{container.environment['FIELDFLAME_PORT']}"
    made = container.run(START, "manage", "create_project", "shop", "--key", "shop-key", "--origin", "*")
    assert made.returncode == 0, made.stderr
    token = json.loads(container.run(START, "manage", "create_token", "--project", "shop").stdout)["token"]
    web, worker = tmp_path / "web", tmp_path / "worker"

    def read_ends() -> str:
        return "\n".join(log.read_text(encoding="utf-8")[-2000:] for log in (web, worker))

    with container.run_part(web, START, "web"), container.run_part(worker, START, "worker"):
        wait_until(lambda: ask(f"{url}/readyz")[0] == 200, read_ends, limit_s=LIMIT_S)
        assert container.run(PYTHON, "-I", "-S", "/opt/fieldflame/deploy/check_health.py").returncode == 0
        body = json.dumps(make_envelope("first")).encode()
        assert ask(f"{url}/ingest/v1/traces?key=shop-key", body=body) == (202, {"accepted": 1, "rejected": []})
        status = f"{url}/api/v1/projects/shop/status"
        wait_until(lambda: ask(status, token=token)[1]["folded"] == 1, read_ends, limit_s=LIMIT_S)
        functions = ask(f"{url}/api/v1/projects/shop/functions", token=token)[1]
    assert functions["views"] == 1
    assert functions["functions"]
