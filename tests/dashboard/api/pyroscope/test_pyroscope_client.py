"""Pyroscope's own client reads us, over HTTP: its generated messages, by the Connect library that Grafana has too."""

import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from aggregate.selectors.project.overview import select_overview
from aggregate.selectors.slice.slices import Slice
from projects.models import Project
from projects.tokens import create_token
from tests.aggregate.posting import fold_all, post
from tests.builders import make_project
from tests.corpus import corpus_envelopes
from tests.dashboard.api.pyroscope.asking import labels_of, type_id
from tests.profcore.formats.pyroscope.reading import sum_paths

SOURCE: Final = Path(__file__).parents[3] / "go" / "querier"
BUILD_S: Final = 600
ASK_S: Final = 120
APP: Final = "shop"
FOLDERS: Final = re.compile(r"https://\S*/")
TRACES: Final = 60
PARTS: Final = {"script": ("js",), "hidden": ("hidden",), "script_and_hidden": ("js", "hidden"), "engine": ("engine",)}


@cache
def build_client() -> Path:
    """Returns the client, built. Skips the test without Go, or where its modules cannot be had."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("there is no Go, in which Pyroscope's client is written")
    program = SOURCE / "built" / "querier"
    if not program.exists() or program.stat().st_mtime < (SOURCE / "main.go").stat().st_mtime:
        command = [go, "build", "-mod=readonly", "-o", str(program), "."]
        done = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True, check=False, timeout=BUILD_S)
        if done.returncode != 0 and any(words in done.stderr for words in ("dial tcp", "403", "404", "lookup")):
            pytest.skip("the modules of Pyroscope's client cannot be downloaded here")
        assert done.returncode == 0, done.stderr[-2000:]
    return program


class Asker:
    """Asks a server by Pyroscope's client."""

    def __init__(self, address: str, token: str) -> None:
        self.command = [str(build_client()), address, token]

    def ask_all(self, *questions: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns a result for each question: an `answer`, or a `code` and a `message`."""
        text = json.dumps(questions)
        done = subprocess.run(self.command, input=text, capture_output=True, text=True, check=False, timeout=ASK_S)
        assert done.returncode == 0, done.stderr[-2000:]
        results: list[dict[str, Any]] = json.loads(done.stdout)
        return results

    def ask(self, method: str, is_json: bool = False, /, **request: Any) -> Any:  # Any: an answer, as JSON
        """Returns the answer to one question, which is sent in protocol buffers or in JSON."""
        (result,) = self.ask_all({"method": method, "request": request, "json": is_json})
        assert "answer" in result, result
        return result["answer"]


@pytest.fixture
def recorded(transactional_db: None) -> Project:
    """A project with recorded traces of one app, some with long tasks."""
    build_client()
    project = make_project(APP)
    envelopes = [envelope for _, envelope in zip(range(9 * TRACES), corpus_envelopes(), strict=False)]
    post(f"KEY-{APP}", *(envelope for _, envelope in envelopes[::9]))
    fold_all()
    return project


@pytest.fixture
def client_of(recorded: Project, live_server: LiveServer) -> Asker:
    _, clear = create_token(project=recorded)
    return Asker(f"{live_server.url}/api/v1/projects/{APP}", clear)


def find_range(asker: Asker) -> dict[str, int]:
    stats = asker.ask("GetProfileStats")
    assert stats["dataIngested"]
    return {"start": int(stats["oldestProfileTime"]), "end": int(stats["newestProfileTime"]) + 3_600_000}


def read_own_graph(client: Client, token: str) -> dict[str, dict[tuple[str, ...], tuple[int, int]]]:
    """Returns the self and total of each path of our flame graph in ns, by type; paths of equal names are added up."""
    response = client.get(
        f"/api/v1/projects/{APP}/flamegraph?max_nodes=100000", headers={"Authorization": f"Bearer {token}"}
    )
    graph = response.json()
    funcs, head = graph["functions"], graph["head"]
    files = [FOLDERS.sub("", uri or "") for uri in funcs["uri"]]
    places = zip(files, funcs["line"], funcs["column"], strict=True)
    names = [
        " ".join((name or "(anonymous)", ":".join(str(part) for part in place if part))).strip()
        for name, place in zip(funcs["name"], places, strict=True)
    ]
    paths: list[tuple[str, ...]] = []
    for prefix, func in zip(graph["nodes"]["prefix"], graph["nodes"]["function"], strict=True):
        paths.append((*(paths[prefix] if prefix >= 0 else ()), names[func]))
    script = [round(ms * 1_000_000) for ms in head["self_ms"]]
    hidden = [round(ms * 1_000_000) for ms in head["hidden_ms"]]
    own = {
        "script": script,
        "hidden": hidden,
        "script_and_hidden": [a + b for a, b in zip(script, hidden, strict=True)],
    }
    return {kind: _add_up(paths, graph["nodes"]["prefix"], values) for kind, values in own.items()}


def _add_up(
    paths: list[tuple[str, ...]], prefixes: list[int], own: list[int]
) -> dict[tuple[str, ...], tuple[int, int]]:
    totals = list(own)
    for node in range(len(own) - 1, -1, -1):
        if prefixes[node] >= 0:
            totals[prefixes[node]] += totals[node]
    sums: dict[tuple[str, ...], tuple[int, int]] = {}
    for path, self_ns, total_ns in zip(paths, own, totals, strict=True):
        if total_ns:
            known = sums.get(path, (0, 0))
            sums[path] = known[0] + self_ns, known[1] + total_ns
    return sums


def test_flame_graphs_are_ours_to_the_microsecond(client: Client, recorded: Project, client_of: Asker) -> None:
    times = find_range(client_of)
    time = select_overview(Slice(project_id=recorded.pk), [], limit=1).whole.time
    own = read_own_graph(client, client_of.command[2])
    assert time.hidden_us > 0
    for kind, parts in PARTS.items():
        whole = 1_000 * sum(getattr(time, f"{part}_us") for part in parts)
        asked = {"profileTypeID": type_id(kind), "labelSelector": '{service_name="shop"}', "maxNodes": 100_000, **times}
        for is_json in (False, True):
            graph = client_of.ask("SelectMergeStacktraces", is_json, **asked).get("flamegraph")
            if graph is None:
                assert whole == 0
                continue
            assert int(graph["total"]) == whole
            # Some scripts of two sites have one name: their functions have whole addresses.
            names = [FOLDERS.sub("", name) for name in graph["names"]]
            assert len(set(graph["names"])) == len(graph["names"])
            assert len(set(names)) < len(names) or kind == "hidden"
            sums = sum_paths(names, [list(map(int, level.get("values", []))) for level in graph["levels"]])
            rest = sums.pop(("(hidden)",), (0, 0))[1] + sums.pop(("(engine)",), (0, 0))[1]
            assert sums == own.get(kind, {})
            assert rest + sum(total for path, (_, total) in sums.items() if len(path) == 1) == whole
            assert int(graph["maxSelf"]) >= max((self_ns for self_ns, _ in sums.values()), default=0)
        del asked["maxNodes"]
        series = client_of.ask("SelectSeries", **asked, step=3600, groupBy=["page"])["series"]
        assert sum(point.get("value", 0.0) for one in series for point in one["points"]) == whole


def test_labels_and_types_are_listed(client_of: Asker) -> None:
    types = client_of.ask("ProfileTypes")["profileTypes"]
    assert [one["ID"] for one in types] == [
        type_id(kind) for kind in ("script_and_hidden", "script", "hidden", "engine")
    ]
    assert types[0]["name"] == "browser"
    times = find_range(client_of)
    for is_json in (False, True):
        names = client_of.ask("LabelNames", is_json, matchers=["{}"], **times)["names"]
        assert {"service_name", "page", "release", "device", "browser", "environment"} <= set(names)
        pages = client_of.ask("LabelValues", is_json, name="page", matchers=["{}"], **times)["names"]
        grouped = client_of.ask(
            "SelectSeries",
            is_json,
            profileTypeID=type_id("script"),
            labelSelector="{}",
            step=86_400,
            groupBy=["page"],
            **times,
        )["series"]
        assert [labels_of(one["labels"])["page"] for one in grouped] == pages
    series = client_of.ask("Series", labelNames=["service_name", "__profile_type__"], **times)["labelsSet"]
    assert len(series) == len(types)


def test_pprof_has_the_same_time(recorded: Project, client_of: Asker) -> None:
    times = find_range(client_of)
    time = select_overview(Slice(project_id=recorded.pk), [], limit=1).whole.time
    asked = {"profileTypeID": type_id("script_and_hidden"), "labelSelector": "{}", "maxNodes": 100_000, **times}
    profile = client_of.ask("SelectMergeProfile", **asked)
    texts = profile["stringTable"]
    units = [texts[int(kind["unit"])] for kind in profile["sampleType"]]
    at = units.index("microseconds")
    assert sum(int(sample["value"][at]) for sample in profile["sample"] if sample["value"]) == (
        time.js_us + time.hidden_us
    )


def test_errors_have_codes_that_the_client_knows(recorded: Project, client_of: Asker, live_server: LiveServer) -> None:
    flames = {"method": "SelectMergeStacktraces", "request": {"profileTypeID": type_id("script")}}
    spans = {"method": "SelectMergeSpanProfile", "request": {"spanSelector": ["9a517183f26a089d"]}}
    for is_json in (False, True):
        without_time, unknown = client_of.ask_all(flames | {"json": is_json}, spans | {"json": is_json})
        assert (without_time["code"], unknown["code"]) == ("invalid_argument", "unimplemented")
        assert without_time["message"] == "start and end must be milliseconds since 1970."
    for token, code in (
        ("ff_00000000_no", "unauthenticated"),
        (create_token(project=make_project("b"))[1], "not_found"),
    ):
        (refused,) = Asker(client_of.command[1], token).ask_all(flames)
        assert refused["code"] == code


def test_profilecli_reads_us(recorded: Project, client_of: Asker) -> None:
    profilecli = shutil.which("profilecli")
    if profilecli is None:
        pytest.skip("Pyroscope's profilecli is not on the PATH")
    times = find_range(client_of)
    _, url, token = client_of.command
    where = ("--url", url, "--token", token, "--from", str(times["start"] // 1000), "--to", str(times["end"] // 1000))

    def run(*words: str) -> str:
        command = [profilecli, "query", *words, *where]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=ASK_S).stdout

    time = select_overview(Slice(project_id=recorded.pk), [], limit=1).whole.time
    kind = ("--profile-type", type_id("script_and_hidden"))
    top = json.loads(run("top", *kind, "--label-names", "release", "--output", "json"))
    assert sum(one["total"] for one in top["series"]) == 1_000 * (time.js_us + time.hidden_us)
    assert f"Comment: js_ms: {time.js_us / 1000}\n" in run("profile", *kind)
    assert " page " in run("series")
