"""The compose file: valid, pinned, and the same servers with the same settings as `./run` has."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from config.up.folder import DataFolder
from config.up.stores.postgres import SERVER_SETTINGS
from config.up.stores.valkey import make_valkey_child, set_up_valkey
from tests.deploy.files import COMPOSE, COMPOSE_TLS, DEPLOY, ROOT, read_services

PARTS = ("web", "worker", "beat", "migrate")
PINNED = re.compile(r"^[a-z/]+:\d+\.\d+(\.\d+)?-[a-z]+$")
YAMLLINT = "{extends: default, rules: {line-length: {max: 120}, document-start: disable, comments: {min-spaces-from-content: 1}}}"  # noqa: E501


@pytest.mark.parametrize("path", [COMPOSE, COMPOSE_TLS], ids=lambda path: path.name)
def test_the_files_follow_the_compose_specification(path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", [COMPOSE, COMPOSE_TLS], ids=lambda path: path.name)
def test_the_files_are_tidy_yaml(path: Path) -> None:
    command = [sys.executable, "-m", "yamllint", "--strict", "--config-data", YAMLLINT, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def find_compose() -> list[str]:
    """Returns the words of whichever compose client is here; reading a file needs no engine."""
    for words in (["docker", "compose"], ["docker-compose"]):
        if (
            shutil.which(words[0])
            and subprocess.run([*words, "version"], capture_output=True, check=False).returncode == 0
        ):
            return words
    pytest.skip("no compose client is installed on this machine")


def run_compose_config(folder: Path, secret: str, *files: str) -> subprocess.CompletedProcess[str]:
    shutil.copytree(DEPLOY, folder / "deploy")
    example = (DEPLOY / ".env.example").read_text(encoding="utf-8")
    filled = re.sub(r"^(FIELDFLAME_SECRET_KEY|POSTGRES_PASSWORD)=$", rf"\1={secret}", example, flags=re.MULTILINE)
    (folder / "deploy" / ".env").write_text(filled, encoding="utf-8")
    words = [word for name in files for word in ("-f", name)]
    command = [*find_compose(), *words, "config"]
    return subprocess.run(command, cwd=folder / "deploy", capture_output=True, text=True, check=False)


@pytest.mark.parametrize("files", [("compose.yaml",), ("compose.yaml", "compose.tls.yaml")])
def test_a_compose_client_reads_the_files_with_the_example_filled_in(tmp_path: Path, files: tuple[str, ...]) -> None:
    done = run_compose_config(tmp_path, "0123456789abcdef", *files)
    assert done.returncode == 0, done.stderr
    assert "postgresql://fieldflame:0123456789abcdef@postgres:5432/fieldflame" in done.stdout


def test_nothing_starts_with_the_secrets_of_the_example(tmp_path: Path) -> None:
    done = run_compose_config(tmp_path, "", "compose.yaml")
    assert done.returncode != 0
    assert "set it in deploy/.env" in done.stderr


def test_foreign_images_are_pinned_and_ours_has_the_projects_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    for name, service in read_services().items():
        if name in PARTS:
            assert service["image"] == f"fieldflame:${{IMAGE_TAG:-{version}}}"
        else:
            assert PINNED.match(service["image"]), service["image"]


def test_every_part_is_the_one_image_with_its_own_word() -> None:
    services = read_services()
    for part in PARTS:
        assert services[part]["command"] == [part]
        assert "entrypoint" not in services[part]
        assert services[part]["read_only"] is True
        assert services[part]["cap_drop"] == ["ALL"]


def test_beat_runs_once_and_nothing_pins_web_and_worker_to_one() -> None:
    services = read_services()
    assert services["beat"]["deploy"]["replicas"] == 1
    for part in ("web", "worker"):
        assert not {"container_name", "ports", "hostname"} & set(services[part])


def test_the_parts_wait_for_the_stores_and_the_schema() -> None:
    services = read_services()
    for part in ("web", "worker", "beat"):
        conditions = {name: wait["condition"] for name, wait in services[part]["depends_on"].items()}
        assert conditions == {
            "postgres": "service_healthy",
            "valkey": "service_healthy",
            "migrate": "service_completed_successfully",
        }
    assert services["migrate"]["restart"] == "no"  # else it would run for ever


def test_the_stores_can_be_reached_from_the_parts_alone() -> None:
    services = read_services()
    for store in ("postgres", "valkey"):
        assert services[store]["networks"] == ["stores"]
        assert "ports" not in services[store]
    assert services["proxy"]["networks"] == ["front"]


def test_valkey_is_started_as_run_starts_it(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.create()
    asked = list(make_valkey_child(set_up_valkey(folder, 0, 0), {}).command)
    ours = read_services()["valkey"]["command"][1:]
    for name, value in zip(ours[::2], ours[1::2], strict=True):
        assert asked[asked.index(name) + 1] == value
    assert {"--appendonly", "--save", "--maxmemory-policy"} == set(ours[::2])


def test_postgres_has_the_settings_that_run_gives_it() -> None:
    words = read_services()["postgres"]["command"]
    given = dict(word.split("=", 1) for word in words[2::2])
    of_containers = {"listen_addresses", "log_checkpoints", "log_timezone"}  # these the image knows better
    assert given == {name: value for name, value in SERVER_SETTINGS.items() if name not in of_containers}
