"""Where what is shipped for deployment lies, and how it is read."""

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
NGINX = DEPLOY / "nginx"
SYSTEMD = DEPLOY / "systemd"
COMPOSE = DEPLOY / "compose.yaml"
COMPOSE_TLS = DEPLOY / "compose.tls.yaml"
COMPOSE_OIDC = DEPLOY / "compose.oidc.yaml"
COMPOSE_CERTIFICATES = DEPLOY / "compose.certificates.yaml"


def read_services(path: Path = COMPOSE) -> dict[str, dict[str, Any]]:  # Any: a foreign document
    """Returns the services of a compose file, anchors resolved and variables as they are written."""
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    services: dict[str, dict[str, Any]] = document["services"]
    return services


def read_unit(path: Path) -> dict[str, list[str]]:
    """Returns the values of a systemd unit by `Section.Name`, in their order."""
    values: dict[str, list[str]] = {}
    section = ""
    for raw in path.read_text(encoding="utf-8").splitlines():
        line = raw.strip()
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            values.setdefault(f"{section}.{name}", []).append(value)
    return values
