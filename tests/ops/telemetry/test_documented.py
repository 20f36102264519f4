"""What is documented, drawn and alerted on is what the code declares."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.ops.telemetry.declared import list_declared

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "telemetry.md"
DASHBOARD = ROOT / "deploy" / "grafana" / "fieldflame.json"
RULES = ROOT / "deploy" / "prometheus" / "fieldflame.rules.yaml"
RULE_TESTS = RULES.with_name("fieldflame.rules.test.yaml")
NAME = re.compile(r"\bfieldflame_\w+")
SELECTED = re.compile(r"\b(fieldflame_\w+?)(?:_bucket|_count|_sum)?\{([^}]*)\}")
GROUPED = re.compile(r"by \(([^)]*)\)")


def read_rules() -> list[dict[str, Any]]:  # Any: YAML
    rules: list[dict[str, Any]] = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]
    return rules


def read_queries() -> Iterator[tuple[str, str]]:
    """Yields (where, query) of the dashboard and of the rules."""
    for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        for target in panel.get("targets", ()):
            yield f"panel {panel['title']}", target["expr"]
    for rule in read_rules():
        yield f"alert {rule['alert']}", rule["expr"]


def test_every_metric_says_what_it_means_and_what_its_labels_are() -> None:
    """`/metrics` has the only list, so it must be enough: a meaning for each, and a word on each label."""
    declared = list_declared()
    assert len(declared) > 30
    for metric in declared:
        assert len(metric.about.split()) > 3 or metric.name == "fieldflame_projects", metric.name
        if "outcome" in metric.labels:
            assert "outcome" in metric.about, f"{metric.name} does not say what its outcomes are"


def test_the_page_names_metrics_that_exist() -> None:
    named = set(re.findall(r"`(fieldflame_\w+)`", PAGE.read_text(encoding="utf-8")))
    assert named
    assert named <= {metric.name for metric in list_declared()}


def test_every_query_names_metrics_and_labels_that_exist() -> None:
    labels = {name: {*metric.labels, "le"} for metric in list_declared() for name in metric.series}
    queries = list(read_queries())
    assert len(queries) > 60
    for where, query in queries:
        names = set(NAME.findall(query))
        assert names <= set(labels), where
        for name, selected in SELECTED.findall(query):
            named = {part.partition("=")[0].strip(" !~") for part in selected.split(", ")}
            assert any(named <= known for full, known in labels.items() if full.startswith(name)), where
        grouped = {word.strip() for group in GROUPED.findall(query) for word in group.split(",")}
        assert all(any(word in labels[name] for name in names) for word in grouped), where


def test_every_metric_is_on_the_dashboard() -> None:
    drawn = set(NAME.findall(DASHBOARD.read_text(encoding="utf-8")))
    assert {metric.name for metric in list_declared() if not metric.series & drawn} == set()


def test_panels_are_told_apart_and_lie_beside_each_other() -> None:
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(set(taken)) == len(taken)
    assert max(x for x, _ in taken) < 24
    sources = {target["datasource"]["uid"] for panel in panels for target in panel.get("targets", ())}
    assert sources == {"${datasource}"}
    assert [variable["name"] for variable in board["templating"]["list"]] == ["datasource"]


def test_every_alert_has_a_line_that_says_what_to_do() -> None:
    text = PAGE.read_text(encoding="utf-8")
    runbook = dict(re.findall(r"^### (Fieldflame\w+)\n(\S.+)", text, re.M))
    alerts = {rule["alert"]: rule["annotations"]["runbook"] for rule in read_rules()}
    assert set(runbook) == set(alerts)
    assert alerts == {name: f"docs/telemetry.md#{name.lower()}" for name in runbook}


def test_every_alert_is_tried_with_what_raises_it_and_with_a_healthy_server() -> None:
    cases = yaml.safe_load(RULE_TESTS.read_text(encoding="utf-8"))["tests"]
    fired = {test["alertname"] for case in cases for test in case["alert_rule_test"] if test.get("exp_alerts")}
    silent = {test["alertname"] for case in cases for test in case["alert_rule_test"] if not test.get("exp_alerts")}
    assert fired == silent == {rule["alert"] for rule in read_rules()}


def run_promtool(*arguments: str, cwd: Path = RULES.parent) -> str:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed on this machine (Debian: prometheus)")
    done = subprocess.run([promtool, *arguments], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_promtool_finds_the_rules_right_and_their_tests_pass() -> None:
    assert f"{len(read_rules())} rules found" in run_promtool("check", "rules", RULES.name)
    run_promtool("test", "rules", RULE_TESTS.name)


def test_promtool_reads_every_query_of_the_dashboard(tmp_path: Path) -> None:
    queries = [query.replace("$__rate_interval", "5m") for where, query in read_queries() if where.startswith("panel")]
    rules = [{"record": f"panel:{number}", "expr": query} for number, query in enumerate(queries)]
    (tmp_path / "panels.yaml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    run_promtool("check", "rules", "panels.yaml", cwd=tmp_path)
