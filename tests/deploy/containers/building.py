"""The image, built without a container engine: by buildah in chroot isolation, on bases that debootstrap makes.

It takes minutes and some GB, so only `./test image` does it.
"""

import json
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ops.supervisor.proc import Process, end_processes, has_mark, list_processes
from tests.deploy.files import DEPLOY, ROOT

IMAGE_NAME = "FIELDFLAME_TEST_IMAGE"  # `./test image` sets it
MARK_NAME = "FIELDFLAME_IMAGE_RUN"
DEBIAN, MIRROR = "bookworm", "http://deb.debian.org/debian"
# What the official images of Python and Rust have and we use; the Rust itself is mounted.
PACKAGES = "ca-certificates,gcc,libc6-dev,python3,python3-pip,python3-venv"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
BASE, IMAGE = "localhost/base", "localhost/fieldflame"
BUILD_LIMIT_S = 3_600
STOP_LIMIT_S = 60.0


def require_builders() -> None:
    """Skips the test, with what is missing, unless the image can be built and was asked for."""
    if not os.environ.get(IMAGE_NAME):
        pytest.skip("building the image takes minutes: `./test image` does it")
    missing = [name for name in ("buildah", "debootstrap", "rustc", "cargo") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"the image cannot be built: {', '.join(missing)} is not installed on this machine")
    if os.geteuid() != 0:
        pytest.skip("debootstrap and chroot want root")


@dataclass(frozen=True, slots=True)
class Builder:
    """buildah with a store of its own."""

    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "CONTAINERS_STORAGE_CONF": str(self.folder / "storage.conf")}

    def prepare(self) -> None:
        driver = os.environ.get("STORAGE_DRIVER", "overlay")
        lines = ["[storage]", f'driver = "{driver}"', f'graphroot = "{self.folder}/store"']
        lines.append(f'runroot = "{self.folder}/run"')
        (self.folder / "storage.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def run(self, *arguments: str) -> str:
        """Returns what a buildah command prints; its last words fail the test."""
        command = ["buildah", *arguments]
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, check=False, timeout=BUILD_LIMIT_S
        )
        assert done.returncode == 0, f"buildah {arguments[0]}: {done.stderr[-2000:]}"
        return done.stdout.strip()

    def make_base(self) -> None:
        container = self.run("from", "scratch")
        root = self.run("mount", container)
        command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", DEBIAN, root, MIRROR]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=BUILD_LIMIT_S)
        assert done.returncode == 0, done.stdout[-2000:]
        self.run("umount", container)
        self.run("config", "--env", "PATH=/opt/rust/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", container)
        self.run("commit", "--rm", container, BASE)

    def build(self) -> None:
        """Builds deploy/Dockerfile, with this machine's Rust and certificates."""
        rust = subprocess.run(
            ["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True
        ).stdout.strip()
        arguments = ["build", "--format", "docker", "--isolation", "chroot", "--file", str(DEPLOY / "Dockerfile")]
        arguments += ["--volume", f"{rust}:/opt/rust:ro", "--tag", IMAGE]
        arguments += ["--build-arg", f"PYTHON_IMAGE={BASE}", "--build-arg", f"RUST_IMAGE={BASE}"]
        if CERTIFICATES.exists():
            arguments += ["--secret", f"id=certificates,src={CERTIFICATES}"]
        self.run(*arguments, str(ROOT))

    def read_settings(self) -> dict[str, Any]:  # Any: a foreign document
        """Returns the image's own settings: Env, User, Entrypoint, Healthcheck."""
        settings: dict[str, Any] = json.loads(self.run("inspect", "--type", "image", IMAGE))["Docker"]["config"]
        return settings


@dataclass(frozen=True, slots=True)
class Container:
    """A container of the image, whose processes use this machine's network."""

    builder: Builder
    name: str
    environment: dict[str, str]
    mark: str

    def make_command(self, arguments: Sequence[str]) -> list[str]:
        options = [word for name, value in self.environment.items() for word in ("--env", f"{name}={value}")]
        options += ["--env", f"{MARK_NAME}={self.mark}"]
        return ["buildah", "run", "--isolation", "chroot", *options, self.name, "--", *arguments]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.make_command(arguments),
            env=self.builder.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=BUILD_LIMIT_S,
        )

    @contextmanager
    def run_part(self, log: Path, *arguments: str) -> Iterator[None]:
        """A part beside the test, until the block ends: then all parts of the container are stopped."""
        with log.open("wb") as output:
            command, environment = self.make_command(arguments), self.builder.environment
            process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            yield
        finally:
            end_processes(self.list_running, gentle=signal.SIGTERM, gentle_limit_s=STOP_LIMIT_S)
            process.wait(STOP_LIMIT_S)

    def list_running(self) -> Iterator[Process]:
        mark = f"{MARK_NAME}={self.mark}"
        return (process for process in list_processes() if has_mark(process.pid, mark))


@contextmanager
def run_container(builder: Builder, environment: dict[str, str]) -> Iterator[Container]:
    """A container of the image, until the block ends."""
    container = Container(builder, builder.run("from", IMAGE), environment, secrets.token_hex(8))
    try:
        yield container
    finally:
        builder.run("rm", container.name)
