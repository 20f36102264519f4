"""The Helm chart: one beat, pods without rights, enough time and memory for what the parts do, and valid manifests."""

import json
import os
import re
import shutil
import subprocess
import tomllib
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # it has no types
import pytest
import yaml
from django.conf import settings

from ops.supervisor.children import Child
from ops.supervisor.folder import DataFolder
from ops.supervisor.services import WEB_MAX_MB, make_worker_child
from tests.deploy.chart.rendering import (
    CHART,
    KUBERNETES,
    RENDERED,
    digest_sources,
    kept,
    read_documents,
    render,
    run_helm,
)
from tests.deploy.files import DEPLOY, ROOT

# Folder of schemas as `<kind>-<group>-<version>.json`; without it, kubeconform would have to download them.
SCHEMAS_NAME = "FIELDFLAME_TEST_KUBERNETES_SCHEMAS"
UNITS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
BOTH = pytest.mark.parametrize("name", list(RENDERED))
Manifest = dict[str, Any]  # Any: foreign documents


def require_tool(name: str) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed on this machine")


def list_of_kind(name: str, kind: str) -> dict[str, Manifest]:
    """Returns the manifests of a kind by their part."""
    documents = [document for document in read_documents(name) if document["kind"] == kind]
    return {document["metadata"]["labels"].get("app.kubernetes.io/component", ""): document for document in documents}


def list_pods(name: str) -> dict[str, Manifest]:
    both = {**list_of_kind(name, "Deployment"), **list_of_kind(name, "Job")}
    return {part: document["spec"]["template"]["spec"] for part, document in both.items()}


def read_env(pod: Manifest) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in pod["containers"][0]["env"]}


def read_limit(pod: Manifest) -> int:
    text: str = pod["containers"][0]["resources"]["limits"]["memory"]
    return int(text[:-2]) * UNITS[text[-2:]]


def read_values() -> Manifest:
    values: Manifest = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
    return values


def is_accepted(values: Manifest) -> bool:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
    return bool(jsonschema.Draft7Validator(schema).is_valid(values))


@pytest.mark.parametrize("command", [("lint", "--strict"), ("template", "x")])
def test_helm_accepts_the_chart(command: tuple[str, ...]) -> None:
    require_tool("helm")
    done = run_helm(*command, str(CHART), "--set", "hosts={a.example}", "--kube-version", "1.35.0")
    assert done.returncode == 0, done.stdout + done.stderr


@BOTH
def test_helm_renders_what_is_kept(name: str) -> None:
    require_tool("helm")
    assert kept(name).read_text(encoding="utf-8").split("\n", maxsplit=1)[1] == render(name)


@BOTH
def test_what_is_kept_was_rendered_from_this_chart(name: str) -> None:
    first = kept(name).read_text(encoding="utf-8").split("\n", maxsplit=1)[0]
    assert first == f"# chart {digest_sources()}", "run: python -m tests.deploy.chart.rendering"


@BOTH
def test_kubernetes_knows_every_field(name: str) -> None:
    require_tool("kubeconform")
    folder = os.environ.get(SCHEMAS_NAME)
    if not folder:
        pytest.skip(f"{SCHEMAS_NAME} names no folder with the schemas of Kubernetes")
    location = f"{folder}/{{{{ .ResourceKind }}}}{{{{ .KindSuffix }}}}.json"
    # The schemas of Kubernetes do not have the resources of Prometheus' operator.
    options = ["-strict", "-summary", "-skip", "PodMonitor", "-schema-location", location]
    command = ["kubeconform", *options, str(kept(name))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_chart_has_the_projects_version() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert (chart["version"], chart["appVersion"]) == (version, version)


def test_the_schema_accepts_the_values_and_no_typo() -> None:
    values = {**read_values(), "hosts": ["a.example"]}
    assert is_accepted(values)
    assert not is_accepted({**values, "hosts": []})
    assert not is_accepted({**values, "hosts": ["*"]})
    assert not is_accepted({**values, "replicas": 3})
    assert not is_accepted({**values, "web": {**values["web"], "replcas": 3}})
    assert not is_accepted({**values, "worker": {**values["worker"], "terminationGracePeriodSeconds": 5}})
    assert not is_accepted({**values, "oidc": {**values["oidc"], "passwords": False}})  # no one could log in
    policy = values["networkPolicy"]
    assert is_accepted({**values, "networkPolicy": {**policy, "receivers": []}})
    assert not is_accepted({**values, "networkPolicy": {**policy, "receivers": [{"port": 443}]}})


@BOTH
def test_each_part_is_the_image_with_its_own_word(name: str) -> None:
    arguments = {part: pod["containers"][0]["args"] for part, pod in list_pods(name).items()}
    assert arguments == {
        "web": ["web"],
        "worker": ["fold"],
        "maintenance": ["maintenance"],
        "beat": ["beat"],
        "migrate": ["migrate"],
    }
    start = (DEPLOY / "start").read_text(encoding="utf-8")
    for [word] in arguments.values():
        assert re.search(rf"^\s+(\w+ \| )*{word}( \| \w+)*\)", start, re.MULTILINE)


@BOTH
def test_there_is_exactly_one_beat(name: str) -> None:
    beat = list_of_kind(name, "Deployment")["beat"]["spec"]
    assert (beat["replicas"], beat["strategy"]) == (1, {"type": "Recreate"})
    assert "replicas" not in read_values()["beat"]
    assert "beat" not in list_of_kind(name, "PodDisruptionBudget")  # it would stop a node from being drained


@BOTH
def test_no_pod_has_rights_or_writes_where_it_should_not(name: str) -> None:
    for pod in list_pods(name).values():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False
        [container] = pod["containers"]
        context = container["securityContext"]
        assert (context["readOnlyRootFilesystem"], context["allowPrivilegeEscalation"]) == (True, False)
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert {mount["mountPath"] for mount in container["volumeMounts"]} >= {"/tmp", "/var/lib/fieldflame"}
        assert {"cpu", "memory"} <= set(container["resources"]["requests"])


def test_the_user_of_the_pods_is_that_of_the_image() -> None:
    uid = list_pods("default")["web"]["securityContext"]["runAsUser"]
    assert f"USER {uid}:{uid}" in (DEPLOY / "Dockerfile").read_text(encoding="utf-8")


def make_worker(folder: DataFolder) -> Child:
    folder.create()
    return make_worker_child(folder, {})


@BOTH
def test_a_worker_has_the_time_of_a_turn_and_a_batch_to_stop(name: str, tmp_path: Any) -> None:
    needed_s = settings.FOLD_TURN_S + make_worker(DataFolder(tmp_path / "data")).stop_limit_s
    for part in ("worker", "maintenance"):
        assert list_pods(name)[part]["terminationGracePeriodSeconds"] >= needed_s


def test_the_memory_of_a_pod_is_enough_for_the_worst_that_it_does() -> None:
    pods = list_pods("default")
    mib = 2**20
    web = read_env(pods["web"])
    assert read_limit(pods["web"]) >= (int(web["FIELDFLAME_WEB_PROCESSES"]) + 1) * WEB_MAX_MB * mib
    worker, maintenance = read_env(pods["worker"]), read_env(pods["maintenance"])
    # A main process, and processes of up to 300 MB each.
    rest = 100 * mib + int(worker["FIELDFLAME_WORKER_PROCESSES"]) * 300 * mib
    assert read_limit(pods["worker"]) >= int(worker["FIELDFLAME_FOLD_ALONE_MEMORY_BYTES"]) + rest
    assert read_limit(pods["maintenance"]) >= int(maintenance["FIELDFLAME_SYMBOLICATE_MEMORY_BYTES"]) + rest


@BOTH
def test_the_schema_of_the_database_is_first(name: str) -> None:
    job = list_of_kind(name, "Job")["migrate"]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    # Nothing that the chart creates is there yet.
    assert "serviceAccountName" not in job["spec"]["template"]["spec"]
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"


def test_workers_are_scaled_by_the_oldest_pending_trace_and_else_by_their_processor() -> None:
    [oldest, processor] = list_of_kind("everything", "HorizontalPodAutoscaler")["worker"]["spec"]["metrics"]
    assert oldest["external"] == {
        "metric": {"name": "fieldflame_traces_oldest_pending_seconds"},
        "target": {"type": "Value", "value": "30"},
    }
    assert processor["resource"]["name"] == "cpu"
    [only] = list_of_kind("default", "HorizontalPodAutoscaler")["worker"]["spec"]["metrics"]
    assert only == processor
    for part, scaled in list_of_kind("everything", "HorizontalPodAutoscaler").items():
        deployment = list_of_kind("everything", "Deployment")[part]
        assert scaled["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
        assert "replicas" not in deployment["spec"]  # each upgrade would undo the scaling


@BOTH
def test_only_the_proxy_and_monitors_reach_the_web_pods(name: str) -> None:
    policies = {document["metadata"]["name"]: document["spec"] for document in list_of_policies(name)}
    everyone, web = policies["fieldflame"], policies["fieldflame-web"]
    assert set(everyone["policyTypes"]) == {"Ingress", "Egress"}
    assert "ingress" not in everyone
    assert [len(rule["from"]) for rule in web["ingress"]] == [2]
    if name == "default":
        [to_public] = web["egress"]  # the doctor does not visit what is inside
        assert "10.0.0.0/8" in to_public["to"][0]["ipBlock"]["except"]
    else:
        [to_provider] = web["egress"]
        assert to_provider["ports"] == [{"port": 8443, "protocol": "TCP"}]
        assert list(to_provider["to"][0]) == ["namespaceSelector"]


@BOTH
def test_only_the_pods_that_send_messages_reach_their_receivers(name: str) -> None:
    policies = {document["metadata"]["name"]: document["spec"] for document in list_of_policies(name)}
    spec = policies.pop("fieldflame-receivers")
    assert spec["policyTypes"] == ["Egress"]
    sender = spec["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
    routed = settings.CELERY_TASK_ROUTES["alerts.send_messages"]["queue"]
    assert (sender, routed) == ("maintenance", settings.MAINTENANCE_QUEUE)
    first, *others = spec["egress"]
    if name == "default":
        assert (list_ports(first), others) == ([443], [])
    else:
        assert (list_ports(first), list_ports(others[0])) == ([443, 587], [25])
        assert others[0]["to"] == [{"ipBlock": {"cidr": "10.30.0.5/32"}}]
    assert {"10.0.0.0/8", "169.254.0.0/16"} <= set(first["to"][0]["ipBlock"]["except"])  # public addresses only
    everyone = [port for rule in policies["fieldflame"]["egress"] for port in list_ports(rule)]
    assert not {443, 587, 25} & set(everyone)


def list_ports(rule: Manifest) -> list[int]:
    return [entry["port"] for entry in rule["ports"]]


@pytest.mark.parametrize(
    ("option", "sender"),
    [
        ("maintenance.enabled=false", ["worker"]),
        ("networkPolicy.receivers=null", []),
        ("networkPolicy.enabled=false", []),
    ],
)
def test_who_sends_messages_follows_the_values(option: str, sender: list[str]) -> None:
    require_tool("helm")
    options = ("--set", "hosts={a.example}", "--set", option, "--kube-version", KUBERNETES)
    done = run_helm("template", "fieldflame", str(CHART), *options)
    assert done.returncode == 0, done.stderr
    policies = [
        document for document in yaml.safe_load_all(done.stdout) if document and document["kind"] == "NetworkPolicy"
    ]
    specs = [policy["spec"] for policy in policies if policy["metadata"]["name"] == "fieldflame-receivers"]
    assert [spec["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for spec in specs] == sender


@BOTH
def test_every_pod_gets_the_secret_of_the_login_provider_as_a_file_or_none(name: str) -> None:
    for pod in list_pods(name).values():
        env = read_env(pod)
        if name == "default":
            assert not [key for key in env if "OIDC" in key]
            continue
        assert (env["FIELDFLAME_OIDC_ISSUER"], env["FIELDFLAME_PASSWORD_LOGIN"]) == (
            "https://id.example.com/realms/acme",
            "0",
        )
        [mount] = [mount for mount in pod["containers"][0]["volumeMounts"] if mount["name"] == "oidc"]
        [volume] = [volume for volume in pod["volumes"] if volume["name"] == "oidc"]
        [item] = volume["secret"]["items"]
        assert env["FIELDFLAME_OIDC_CLIENT_SECRET_FILE"] == f"{mount['mountPath']}/{item['path']}"
        assert (volume["secret"]["secretName"], item["key"]) == ("stores", "provider")
        assert "FIELDFLAME_OIDC_CLIENT_SECRET" not in env


def list_of_policies(name: str) -> list[Manifest]:
    return [document for document in read_documents(name) if document["kind"] == "NetworkPolicy"]


def test_the_probes_ask_for_life_with_a_host_that_is_allowed() -> None:
    pod = list_pods("default")["web"]
    hosts = read_env(pod)["FIELDFLAME_ALLOWED_HOSTS"].split(",")
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        asked = pod["containers"][0][probe]["httpGet"]
        assert asked["path"] == "/healthz"
        assert asked["httpHeaders"][0]["value"] in hosts


def test_a_workers_pod_is_ready_when_it_listens_and_is_never_killed_for_an_absent_broker() -> None:
    for part in ("worker", "maintenance"):
        [container] = list_pods("default")[part]["containers"]
        assert (
            container["startupProbe"]["exec"]["command"][-1]
            == read_env(list_pods("default")[part])["WORKER_READY_FILE"]
        )
        assert "livenessProbe" not in container


def test_the_ingress_asks_for_the_path_that_all_parts_know() -> None:
    for name, path in (("default", "/"), ("everything", "/fieldflame")):
        [ingress] = list_of_kind(name, "Ingress").values()
        rules = ingress["spec"]["rules"]
        assert {way["path"] for rule in rules for way in rule["http"]["paths"]} == {path}
        known = {read_env(pod).get("FIELDFLAME_PATH", "/") for pod in list_pods(name).values()}
        assert known == {path}
