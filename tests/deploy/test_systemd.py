"""The units: accepted by systemd's own verifier, hardened alike, complete. And what is copied beside them."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from ops.supervisor.stores.postgres import SERVER_SETTINGS
from tests.deploy.files import ROOT, SYSTEMD, read_unit
from tests.deploy.proxy import require_program

TEMPLATE, MIGRATE, TARGET = "fieldflame@.service", "fieldflame-migrate.service", "fieldflame.target"
PARTS = ("web", "worker", "beat")
EXPOSURE_MAX = 20  # of 100; 17 as shipped, and most services of a distribution have 90


def lay_out_units(folder: Path) -> list[Path]:
    """Copies the units, with the project's folder in place of /opt/fieldflame; returns those a host would have."""
    for unit in SYSTEMD.iterdir():
        if unit.suffix in (".service", ".target"):
            text = unit.read_text(encoding="utf-8").replace("/opt/fieldflame", str(ROOT))
            (folder / unit.name).write_text(text, encoding="utf-8")
    template = (folder / TEMPLATE).read_text(encoding="utf-8")
    for part in PARTS:
        (folder / f"fieldflame@{part}.service").write_text(template, encoding="utf-8")
    return [folder / f"fieldflame@{part}.service" for part in PARTS] + [folder / MIGRATE, folder / TARGET]


def test_systemd_finds_nothing_wrong(tmp_path: Path) -> None:
    analyze = require_program("systemd-analyze")
    units = [str(unit) for unit in lay_out_units(tmp_path)]
    environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"}
    command = [analyze, "verify", "--man=no", *units]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "fieldflame" in line or str(tmp_path) in line]
    assert ours == []
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["fieldflame@web.service", MIGRATE])
def test_systemd_calls_the_services_well_sandboxed(tmp_path: Path, name: str) -> None:
    analyze = require_program("systemd-analyze")
    lay_out_units(tmp_path)
    command = [analyze, "security", "--offline=true", f"--threshold={EXPOSURE_MAX}", "--no-pager", str(tmp_path / name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def read_hardening(name: str) -> list[str]:
    text = (SYSTEMD / name).read_text(encoding="utf-8")
    after = text.split("# --- Hardening", maxsplit=1)[1].split("[Install]", maxsplit=1)[0]
    return [line for line in after.splitlines()[1:] if line]


def test_all_services_are_hardened_alike() -> None:
    assert read_hardening(TEMPLATE) == read_hardening(MIGRATE)
    assert {"NoNewPrivileges=yes", "ProtectSystem=strict", "CapabilityBoundingSet="} <= set(read_hardening(TEMPLATE))


def test_the_target_has_every_part() -> None:
    assert read_unit(SYSTEMD / TARGET)["Unit.Wants"] == [" ".join(f"fieldflame@{part}.service" for part in PARTS)]


def test_both_services_run_with_the_same_environment() -> None:
    template, migrate = read_unit(SYSTEMD / TEMPLATE), read_unit(SYSTEMD / MIGRATE)
    for name in ("Service.User", "Service.Environment", "Service.WorkingDirectory"):
        assert template[name] == migrate[name]
    assert template["Service.EnvironmentFile"][0] == migrate["Service.EnvironmentFile"][0]


def test_a_worker_is_asked_to_stop_before_its_pool_is() -> None:
    # With the default, every process of the pool gets SIGTERM too and leaves its work half done.
    assert read_unit(SYSTEMD / TEMPLATE)["Service.KillMode"] == ["mixed"]


def test_postgres_has_the_settings_that_run_gives_it() -> None:
    text = (SYSTEMD / "fieldflame.postgresql.conf").read_text(encoding="utf-8")
    given = dict(re.findall(r"^(\w+) = (\S+)", text, re.MULTILINE))
    of_debian = {"listen_addresses", "log_checkpoints", "log_timezone"}
    assert given == {name: value for name, value in SERVER_SETTINGS.items() if name not in of_debian}


def test_a_command_has_the_environment_of_the_services() -> None:
    arguments = shlex.split((SYSTEMD / "manage").read_text(encoding="utf-8").replace("\\\n", " "), comments=True)
    unit = read_unit(SYSTEMD / TEMPLATE)
    assert [word.removeprefix("--setenv=") for word in arguments if word.startswith("--setenv=")] == unit[
        "Service.Environment"
    ]
    for name in ("User", "Group"):
        assert f"--{'uid' if name == 'User' else 'gid'}={unit[f'Service.{name}'][0]}" in arguments
    for name in ("EnvironmentFile", "PrivateTmp", "UMask"):
        assert f"--property={name}={unit[f'Service.{name}'][0]}" in arguments


def test_the_page_names_every_file_that_is_shipped() -> None:
    page = (ROOT / "docs" / "install-systemd.md").read_text(encoding="utf-8")
    for file in SYSTEMD.iterdir():
        assert file.name in page or file.suffix in (".service", ".target")
    for name in re.findall(r"deploy/systemd/([\w.]+)", page):
        assert (SYSTEMD / name).exists() or name == "fieldflame.env.example"
