"""The programs that a recording needs, and the shop's builds."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ops.demo.recordings import DEMO

SHOP: Final = DEMO / "shop"
CHROMIUM_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BUILD_LIMIT_S: Final = 300.0


class ProgramError(Exception):
    """A program is missing or failed; the text says which, and what to do."""


def find_node() -> str:
    """Returns the path of Node, the machine's or that of a wheel. Raises ProgramError."""
    node = shutil.which("node") or shutil.which("node", path=str(Path(sys.executable).parent))
    if node is None:
        raise ProgramError("There is no Node on this machine: install the package nodejs, which builds the shop.")
    return node


def find_chromium() -> str:
    """Returns the path of a Chromium or Chrome, if Playwright is there to drive it. Raises ProgramError."""
    path = next(filter(None, map(shutil.which, CHROMIUM_NAMES)), None)
    if path is None:
        raise ProgramError("There is no Chromium on this machine: install the package chromium, which is recorded.")
    if find_spec("playwright") is None:
        raise ProgramError("Playwright is missing: start this by `./run`, which installs the packages of developers.")
    return path


def find_openssl() -> str:
    """Returns the path of openssl, for a certificate of an hour. Raises ProgramError."""
    path = shutil.which("openssl")
    if path is None:
        raise ProgramError("There is no openssl on this machine: install it, because the shop is served by https.")
    return path


def run_program(command: list[str], cwd: Path) -> None:
    """Runs a program to its end. Raises ProgramError with the end of its words if it fails."""
    try:
        subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True, timeout=BUILD_LIMIT_S)
    except subprocess.CalledProcessError as error:
        raise ProgramError(f"{' '.join(command[:3])} failed:\n{(error.stderr or error.stdout)[-2000:]}") from None
    except subprocess.TimeoutExpired:
        raise ProgramError(f"{' '.join(command[:3])} took more than {BUILD_LIMIT_S:.0f} s.") from None


def build_shop(folder: Path) -> None:
    """Builds all releases of the shop into a folder; installs its packages if they are missing. Raises ProgramError."""
    node = find_node()
    if not (SHOP / "node_modules" / "esbuild").is_dir():
        npm = shutil.which("npm")
        if npm is None:
            raise ProgramError("There is no npm on this machine: install it, or run `npm ci` in ops/demo/shop.")
        run_program([npm, "ci"], SHOP)
    run_program([node, "build.mjs", str(folder)], SHOP)


def make_certificate(folder: Path, hosts: list[str]) -> Path:
    """Returns a file with a key and a certificate for some hosts, which only the recording's browser accepts."""
    path = folder / "certificate.pem"
    names = ",".join(f"DNS:{host}" for host in hosts)
    command = [find_openssl(), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "1", "-subj", "/CN=demo", "-addext", f"subjectAltName={names}"]
    run_program([*command, "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")], folder)
    path.write_bytes((folder / "key.pem").read_bytes() + (folder / "cert.pem").read_bytes())
    return path
