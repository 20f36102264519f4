"""The compose files: valid, pinned, locked down, and the same servers with the same settings as `./run` has."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings

from ops.supervisor.folder import DataFolder
from ops.supervisor.stores.postgres import SERVER_SETTINGS
from ops.supervisor.stores.valkey import make_valkey_child, set_up_valkey
from tests.deploy.files import COMPOSE, COMPOSE_CERTIFICATES, COMPOSE_OIDC, COMPOSE_TLS, DEPLOY, ROOT, read_services

PARTS = {
    "web": "web",
    "worker": "fold",
    "maintenance": "maintenance",
    "beat": "beat",
    "migrate": "migrate",
}  # service: its word
PINNED = re.compile(r"^\$\{([A-Z]+_IMAGE):-([a-z/]+:\d+\.\d+(\.\d+)?-[a-z]+)\}$")
FILES = (COMPOSE, COMPOSE_TLS, COMPOSE_CERTIFICATES, COMPOSE_OIDC)
YAMLLINT = "{extends: default, rules: {line-length: {max: 120}, document-start: disable, comments: {min-spaces-from-content: 1}}}"  # noqa: E501


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_files_follow_the_compose_specification(path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_files_are_tidy_yaml(path: Path) -> None:
    command = [sys.executable, "-m", "yamllint", "--strict", "--config-data", YAMLLINT, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def find_compose() -> list[str]:
    """Returns the words of whichever compose client is here; reading a file needs no engine."""
    asked = (["docker", "compose"], "version"), (["docker-compose"], "version"), (["podman-compose"], "config --help")
    for command, question in asked:
        probe = [*command, *question.split()]
        if shutil.which(command[0]) and subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return command
    pytest.skip("no compose client is installed on this machine")


def run_compose_config(folder: Path, *files: str) -> dict[str, dict[str, Any]]:
    """Returns the services as a compose client reads them, with the example and with new secrets."""
    shutil.copytree(DEPLOY, folder / "deploy", ignore=shutil.ignore_patterns(".env", "secrets", "tls"))
    shutil.copy(DEPLOY / ".env.example", folder / "deploy" / ".env")
    subprocess.run([folder / "deploy" / "make-secrets"], check=True, capture_output=True)
    options = [word for name in files for word in ("-f", name)]
    command = [*find_compose(), *options, "config"]
    done = subprocess.run(command, cwd=folder / "deploy", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    services: dict[str, dict[str, Any]] = yaml.safe_load(done.stdout)["services"]
    return services


@pytest.mark.parametrize("added", [(), ("compose.tls.yaml",), ("compose.certificates.yaml",), ("compose.oidc.yaml",)])
def test_a_compose_client_reads_the_files_with_the_example_filled_in(tmp_path: Path, added: tuple[str, ...]) -> None:
    services = run_compose_config(tmp_path, "compose.yaml", *added)
    assert set(services) == set(read_services())
    assert services["web"]["environment"]["FIELDFLAME_SECRET_KEY_FILE"] == "/run/secrets/secret_key"
    assert services["postgres"]["image"] == "postgres:18.6-bookworm"
    assert services["worker"]["stop_grace_period"] == "30s"


def test_every_part_gets_the_secret_of_the_login_provider(tmp_path: Path) -> None:
    added = read_services(COMPOSE_OIDC)
    assert set(added) == set(PARTS)
    assert all(service == added["web"] for service in added.values())
    assert added["web"] == {
        "environment": {"FIELDFLAME_OIDC_CLIENT_SECRET_FILE": "/run/secrets/oidc_client_secret"},
        "secrets": ["oidc_client_secret"],
    }
    example = (DEPLOY / ".env.example").read_text(encoding="utf-8")
    assert "# COMPOSE_FILE=compose.yaml:compose.oidc.yaml\n# FIELDFLAME_OIDC_ISSUER=" in example


def test_foreign_images_are_pinned_may_be_pinned_to_a_digest_and_ours_has_the_projects_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    example = (DEPLOY / ".env.example").read_text(encoding="utf-8")
    for name, service in read_services().items():
        if name in PARTS:
            assert service["image"] == f"${{IMAGE:-fieldflame}}:${{IMAGE_TAG:-{version}}}"
        else:
            pinned = PINNED.match(service["image"])
            assert pinned, service["image"]
            assert f"# {pinned[1]}={pinned[2]}@sha256:…\n" in example
    recipe = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    for name in ("PYTHON_IMAGE", "RUST_IMAGE"):
        default = re.search(rf"^ARG ({name}=.*)$", recipe, re.MULTILINE)
        assert default
        assert f"# {default[1]}@sha256:…\n" in example


def test_every_part_is_the_one_image_with_its_own_word() -> None:
    services = read_services()
    for name, word in PARTS.items():
        assert services[name]["command"] == [word]
        assert "entrypoint" not in services[name]
    assert [name for name in services if "build" in services[name]] == ["migrate"]  # once, for all


def test_no_container_writes_outside_its_volumes_or_has_a_capability_but_the_proxy() -> None:
    for name, service in read_services().items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert ("cap_add" in service) is (name == "proxy")
    services = read_services()
    assert services["proxy"]["cap_add"] == ["CHOWN", "NET_BIND_SERVICE", "SETGID", "SETUID"]
    assert (services["postgres"]["user"], services["valkey"]["user"]) == ("postgres", "valkey")


def test_only_the_proxy_has_a_port_and_on_this_machine_alone() -> None:
    services = read_services()
    assert [name for name in services if "ports" in services[name]] == ["proxy"]
    assert services["proxy"]["ports"] == ["${HTTP_BIND:-127.0.0.1:8080}:80"]
    assert list(read_services(COMPOSE_TLS)) == ["proxy"]


def test_beat_runs_once_and_nothing_pins_web_and_worker_to_one() -> None:
    services = read_services()
    assert services["beat"]["deploy"]["replicas"] == 1
    assert [name for name in services if services[name].get("command") == ["beat"]] == ["beat"]
    for part in ("web", "worker", "maintenance"):
        assert not {"container_name", "ports", "hostname"} & set(services[part])


@pytest.mark.parametrize("name", ["worker", "maintenance"])
def test_a_worker_has_more_time_to_stop_than_a_turn_and_a_batch_take(name: str) -> None:
    grace = read_services()[name]["stop_grace_period"]
    assert int(grace.removesuffix("s")) > settings.FOLD_TURN_S + settings.FOLD_BATCH_CPU_S


def test_every_service_says_how_its_health_is_seen() -> None:
    for name, service in read_services().items():
        if name == "web":
            assert "healthcheck" not in service  # the image has it
        else:
            assert service["healthcheck"].get("disable") or service["healthcheck"]["test"], name


def test_secrets_are_files_of_the_containers_that_read_them() -> None:
    document = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    assert {name: entry["file"] for name, entry in document["secrets"].items()} == {
        name: f"./secrets/{name}" for name in ("database_url", "metrics_token", "postgres_password", "secret_key")
    }
    for name, service in document["services"].items():
        read = set(re.findall(r"/run/secrets/(\w+)", json.dumps(service.get("environment", {}))))
        assert read == set(service.get("secrets", [])), name
    assert not re.search(r"PASSWORD(?!_LOGIN)|SECRET_KEY", (DEPLOY / ".env.example").read_text(encoding="utf-8"))


def test_counts_lie_in_the_memory_of_each_container_and_beats_times_in_a_volume() -> None:
    services = read_services()
    folders = {name: services[name]["environment"]["FIELDFLAME_DATA"] for name in PARTS}
    assert folders.pop("beat") == "/var/lib/fieldflame"
    assert "beat:/var/lib/fieldflame" in services["beat"]["volumes"][-1]
    assert set(folders.values()) == {"/dev/shm/fieldflame"}  # its own, unlike /dev/shm, which all may change
    # Each command that ran in a container, health checks too, would leave files of counts there.
    assert all("PROMETHEUS_MULTIPROC_DIR" not in services[name]["environment"] for name in PARTS)


def test_every_volume_is_named_and_kept_by_somebody() -> None:
    document = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))
    mounts = [mount for service in document["services"].values() for mount in service.get("volumes", [])]
    assert {mount.split(":")[0] for mount in mounts if not mount.startswith("./")} == set(document["volumes"])
    assert [mount for mount in mounts if mount.startswith("./") and not mount.endswith(":ro")] == []


def test_the_proxy_asks_the_resolver_of_its_container(tmp_path: Path) -> None:
    script = read_services()["proxy"]["entrypoint"][2].replace("$$", "$")
    script, _, last = script.rpartition(" && ")
    assert last.strip() == "exec nginx -g 'daemon off;'"
    resolv = tmp_path / "resolv.conf"
    for address, asked in (("127.0.0.11", "127.0.0.11"), ("fd00::1", "[fd00::1]")):
        resolv.write_text(f"search lan\nnameserver {address}\nnameserver 192.0.2.1\n")
        here = script.replace("/etc/resolv.conf", str(resolv)).replace("/tmp/start.conf", str(tmp_path / "made"))
        for path, line in (("", ""), ("/a.b", 'rewrite "^/a.b(?:/(.*))?$" /$1;\n')):
            subprocess.run(["/bin/sh", "-c", here], check=True, env={**os.environ, "FIELDFLAME_PATH": path})
            assert (tmp_path / "made").read_text() == f"resolver {asked} valid=5s ipv6=off;\n{line}"


def test_the_parts_wait_for_the_stores_and_the_schema() -> None:
    services = read_services()
    for part in ("web", "worker", "maintenance", "beat"):
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
    assert services["proxy"]["networks"] == ["front"]


def test_valkey_is_started_as_run_starts_it(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.create()
    asked = list(make_valkey_child(set_up_valkey(folder, 0, 0), {}).command)
    ours = read_services()["valkey"]["command"][1:]
    given = dict(zip(ours[::2], ours[1::2], strict=True))
    assert given.pop("--protected-mode") == "no"  # by TCP, in a network of its own
    for name, value in given.items():
        assert asked[asked.index(name) + 1] == value
    assert set(given) == {"--appendonly", "--save", "--maxmemory-policy"}


def test_postgres_has_the_settings_that_run_gives_it() -> None:
    arguments = read_services()["postgres"]["command"]
    given = dict(word.split("=", 1) for word in arguments[2::2])
    of_containers = {"listen_addresses", "log_checkpoints", "log_timezone"}  # these the image knows better
    assert given == {name: value for name, value in SERVER_SETTINGS.items() if name not in of_containers}
