"""Each process has a port for its metrics in each way to install, or docs/telemetry.md says why not."""

import re
from typing import Any

import pytest
import yaml

from tests.deploy.chart.rendering import CHART, RENDERED, read_documents
from tests.deploy.files import DEPLOY, ROOT, SYSTEMD, read_services, read_unit

SETTINGS = {"worker": "WORKER", "maintenance": "WORKER", "beat": "BEAT"}
BOTH = pytest.mark.parametrize("name", list(RENDERED))
Manifest = dict[str, Any]  # Any: foreign documents


def read_table() -> dict[str, list[str]]:
    """Returns the cells of the table of ports by process: `./run`, compose, Kubernetes, systemd and image."""
    page = (ROOT / "docs" / "telemetry.md").read_text(encoding="utf-8")
    table = page.split("| process | `./run` |", maxsplit=1)[1].split("\n\n", maxsplit=1)[0]
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.splitlines()[2:]]
    return {name: cells for names, *cells in rows for name in re.findall(r"`(\w+)`", names)}


def read_env_of(container: Manifest) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in container["env"]}


def list_pods(name: str) -> dict[str, Manifest]:
    return {
        document["metadata"]["labels"]["app.kubernetes.io/component"]: document["spec"]["template"]["spec"]
        for document in read_documents(name)
        if document["kind"] in ("Deployment", "Job")
    }


def test_every_cell_is_a_port_or_a_sentence() -> None:
    for process, cells in read_table().items():
        assert len(cells) == 4, process
        for cell in cells:
            assert re.search(r"\b(8000|9108|9109)\b", cell) or re.match(r"none: \w+ \w+", cell), (process, cell)


def test_every_service_of_compose_has_its_port_inside_of_the_network_only() -> None:
    table, services = read_table(), read_services()
    assert set(services) <= set(table)
    for name, service in services.items():
        cell = table[name][1]
        if name == "web":
            assert cell == "`web:8000`"
        elif name in SETTINGS:
            port = service["environment"][f"FIELDFLAME_{SETTINGS[name]}_METRICS_PORT"]
            assert cell == f"`{name}:{port}`"
            assert service["environment"]["FIELDFLAME_METRICS_HOST"] == "0.0.0.0"
        else:
            assert cell.startswith("none: ")
        assert ("monitors" in service.get("networks", [])) is not cell.startswith("none: "), name
    document = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    assert document["networks"]["monitors"] == {"internal": True}


@BOTH
def test_every_pod_has_its_port_and_the_token(name: str) -> None:
    table, pods = read_table(), list_pods(name)
    assert set(pods) <= set(table)
    for part, pod in pods.items():
        [container] = pod["containers"]
        ports = [f"{port['containerPort']}, `{port['name']}`" for port in container.get("ports", [])]
        assert ports == ([] if table[part][2].startswith("none: ") else [table[part][2]]), part
        if part in SETTINGS:
            env = read_env_of(container)
            assert env["FIELDFLAME_METRICS_HOST"] == "0.0.0.0"
            assert table[part][2].startswith(f"{env[f'FIELDFLAME_{SETTINGS[part]}_METRICS_PORT']}, ")
        assert "FIELDFLAME_METRICS_TOKEN" in read_env_of(container)


@BOTH
def test_only_monitors_reach_the_ports_of_metrics(name: str) -> None:
    policies = {d["metadata"]["name"]: d["spec"] for d in read_documents(name) if d["kind"] == "NetworkPolicy"}
    [chosen] = policies["fieldflame-metrics"]["podSelector"]["matchExpressions"]
    assert set(chosen["values"]) == set(SETTINGS)
    [rule] = policies["fieldflame-metrics"]["ingress"]
    assert rule["ports"] == [{"port": "metrics", "protocol": "TCP"}]
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    assert rule["from"] == values["networkPolicy"]["monitors"]  # never empty: that would be everybody


def test_a_pod_monitor_reads_both_ports_with_the_token() -> None:
    assert not [document for document in read_documents("default") if document["kind"] == "PodMonitor"]
    [monitor] = [document for document in read_documents("everything") if document["kind"] == "PodMonitor"]
    assert monitor["metadata"]["labels"]["release"] == "prometheus"
    endpoints = {endpoint["port"]: endpoint["authorization"] for endpoint in monitor["spec"]["podMetricsEndpoints"]}
    token = {"credentials": {"name": "stores", "key": "FIELDFLAME_METRICS_TOKEN"}}
    assert endpoints == {"http": token, "metrics": token}


@BOTH
def test_no_two_containers_count_in_one_folder(name: str) -> None:
    claims = []
    for part, pod in list_pods(name).items():
        assert len(pod["containers"]) == 1
        assert "PROMETHEUS_MULTIPROC_DIR" not in read_env_of(pod["containers"][0])  # below the data folder
        [data] = [volume for volume in pod["volumes"] if volume["name"] == "data"]
        assert data.get("emptyDir") == {} or part == "beat", part
        claims += [data["persistentVolumeClaim"]["claimName"]] if "persistentVolumeClaim" in data else []
    assert len(claims) == len(set(claims))


def test_the_example_for_systemd_has_the_ports_and_a_part_may_have_its_own() -> None:
    example = (SYSTEMD / "fieldflame.env.example").read_text(encoding="utf-8")
    table = read_table()
    for part, setting in SETTINGS.items():
        [port] = re.findall(rf"^FIELDFLAME_{setting}_METRICS_PORT=(\d+)$", example, re.MULTILINE)
        assert table[part][3].startswith(port)
    files = read_unit(SYSTEMD / "fieldflame@.service")["Service.EnvironmentFile"]
    assert files == ["/etc/fieldflame/fieldflame.env", "-/etc/fieldflame/%i.env"]  # the later one wins


def test_the_page_of_the_image_has_the_same_settings() -> None:
    page = (ROOT / "docs" / "install-image.md").read_text(encoding="utf-8")
    for line in (
        "FIELDFLAME_METRICS_TOKEN_FILE=/run/secrets/metrics_token",
        "FIELDFLAME_METRICS_HOST=0.0.0.0",
        "FIELDFLAME_WORKER_METRICS_PORT=9108",
        "FIELDFLAME_BEAT_METRICS_PORT=9109",
    ):
        assert f"\n{line}\n" in page
