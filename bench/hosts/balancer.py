"""The proxy in front of a site on hosts: nginx with the configuration that is shipped, and one line per web server."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.hosts.network import Host, NoHosts, find_program
from config.up.parts import BASE_DIR
from config.up.running import find_free_port

SHIPPED: Final = BASE_DIR / "deploy" / "nginx"
WEB_PORT: Final = 8000
STOP_LIMIT_S: Final = 30.0
START_LIMIT_S: Final = 60.0
FRAME: Final = """
user root root;
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
worker_processes 1;
worker_rlimit_nofile 4096;
events {{ worker_connections 1024; }}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include fieldflame/http.conf;
    {upstream}
    server {{
        listen 127.0.0.1:{port};
        set $fieldflame_web fieldflame;
        include fieldflame/locations.conf;
    }}
}}
"""


class Balancer:
    """nginx, in the network of this process."""

    def __init__(self, folder: Path, webs: Sequence[Host]) -> None:
        self.port = find_free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        shutil.copytree(SHIPPED / "fieldflame", folder / "fieldflame")
        locations = folder / "fieldflame" / "locations.conf"
        text = locations.read_text(encoding="utf-8").replace("/var/log/nginx", str(folder))
        locations.write_text(text, encoding="utf-8")
        frame = FRAME.format(folder=folder, port=self.port, upstream=make_upstream([web.address for web in webs]))
        (folder / "nginx.conf").write_text(frame, encoding="utf-8")

    def start(self) -> None:
        program = find_program("nginx")
        if program is None:
            raise NoHosts("nginx is not installed on this machine")
        command = [program, "-p", str(self._folder), "-c", str(self._folder / "nginx.conf")]
        with (self._folder / "output.log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, env=dict(os.environ))
        deadline_s = time.monotonic() + START_LIMIT_S
        while not (self._folder / "pid").exists():
            if self._process.poll() is not None or time.monotonic() > deadline_s:
                raise RuntimeError(f"nginx did not start: {(self._folder / 'output.log').read_text()}")
            time.sleep(0.05)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(STOP_LIMIT_S)


def make_upstream(addresses: Sequence[str]) -> str:
    """Returns the block of the shipped configuration that names the web servers, with these in their place."""
    shipped = (SHIPPED / "fieldflame.conf").read_text(encoding="utf-8")
    found = re.search(r"^upstream fieldflame \{.*?^\}", shipped, flags=re.MULTILINE | re.DOTALL)
    assert found is not None
    line = re.search(r"^ *server 127\.0\.0\.1:8000(.*);.*\n", found[0], flags=re.MULTILINE)
    assert line is not None
    servers = "".join(f"    server {address}:{WEB_PORT}{line[1]};\n" for address in addresses)
    return found[0].replace(line[0], servers)
