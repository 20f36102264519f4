"""nginx with a shipped configuration, in a folder of its own, before a server that a test gives."""

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ops.supervisor.running import find_free_port
from tests.deploy.files import NGINX

START_LIMIT_S = 60
STOP_LIMIT_S = 60
FRAME = """
{user}
daemon off;
pid {folder}/pid;
error_log {folder}/log/error.log;
worker_processes 1;
events {{ worker_connections 256; }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A configuration in its folder, and the ports it listens on."""

    program: str
    folder: Path
    plain_port: int
    tls_port: int

    @property
    def command(self) -> list[str]:
        return [self.program, "-p", str(self.folder), "-c", str(self.folder / "nginx.conf")]

    def read_log(self, name: str) -> str:
        log = self.folder / "log" / name
        return log.read_text(encoding="utf-8") if log.exists() else ""


def require_program(name: str) -> str:
    """Returns where a program of the system is; skips the test where it is missing."""
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if path is None:
        pytest.skip(f"{name} is not installed on this machine")
    return path


def lay_out_proxy(folder: Path, conf: str, upstream_port: int, *, site: str = "", start: str = "") -> Proxy:
    """Copies a shipped configuration and changes what belongs to the machine: ports, upstream, logs, certificate.

    `site` is another server of the same nginx, `start` what the container's start adds to its own file.
    """
    program = require_program("nginx")
    proxy = Proxy(program, folder, find_free_port(), find_free_port())
    (folder / "log").mkdir(parents=True)
    shutil.copytree(NGINX / "fieldflame", folder / "fieldflame")
    site = (NGINX / conf).read_text(encoding="utf-8") + site
    inner = f"127.0.0.1:{find_free_port()}"  # of the server that only another one asks
    site = site.replace("127.0.0.1:8001", inner)
    for part in (folder / "fieldflame").glob("*.conf"):
        text = part.read_text(encoding="utf-8").replace("/var/log/nginx", f"{folder}/log")
        part.write_text(text.replace("127.0.0.1:8001", inner), encoding="utf-8")
    site = re.sub(r"^.*listen \[::\].*\n", "", site, flags=re.MULTILINE)
    site = site.replace("listen 80", f"listen 127.0.0.1:{proxy.plain_port}")
    site = site.replace("listen 443", f"listen 127.0.0.1:{proxy.tls_port}")
    site = re.sub(r"(web|127\.0\.0\.1):8000", f"127.0.0.1:{upstream_port}", site)
    # In the container its start writes this file.
    (folder / "start.conf").write_text(f"resolver 127.0.0.1 ipv6=off;\n{start}", encoding="utf-8")
    site = site.replace("/tmp/start.conf", f"{folder}/start.conf")
    if "ssl_certificate" in site:
        make_certificate(folder)
        site = re.sub(r"/(etc/nginx/tls|etc/letsencrypt/live/[^/]+)/", f"{folder}/", site)
    (folder / "site.conf").write_text(site, encoding="utf-8")
    user = "user root root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(FRAME.format(folder=folder, user=user), encoding="utf-8")
    return proxy


def make_certificate(folder: Path) -> None:
    command = [require_program("openssl"), "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-keyout", str(folder / "privkey.pem"), "-out", str(folder / "fullchain.pem"), "-subj", "/CN=localhost"]
    subprocess.run(command, check=True, capture_output=True)


@contextmanager
def run_proxy(folder: Path, conf: str, upstream_port: int, *, site: str = "", start: str = "") -> Iterator[Proxy]:
    """Runs nginx until the block ends."""
    proxy = lay_out_proxy(folder, conf, upstream_port, site=site, start=start)
    process = subprocess.Popen(proxy.command, stderr=subprocess.DEVNULL)
    try:
        wait_until_listening(proxy.plain_port, process)
        yield proxy
    finally:
        process.terminate()
        process.wait(STOP_LIMIT_S)


def wait_until_listening(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_LIMIT_S
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            assert process.poll() is None, "nginx ended"
            assert time.monotonic() < deadline, "nginx does not listen"
            time.sleep(0.02)
