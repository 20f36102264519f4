"""Logs: one event per line in either format, with ids, without secrets, and quiet where nothing happens."""

import io
import json
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client, RequestFactory
from prometheus_client import REGISTRY
from structlog.contextvars import bound_contextvars

from aggregate.fold import batch
from aggregate.tasks import sweep
from ops.telemetry.logs import FORMAT_NAME, FORMATS, hide, make_formatter, make_logging
from ops.telemetry.requests import RequestMark
from projects.creation import create_project
from projects.models import IngestKey
from projects.tokens import create_token
from tests.aggregate.posting import post
from tests.envelopes import make_envelope

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(params=FORMATS)
def lines(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """What this process logs, in one of the formats."""
    monkeypatch.setenv(FORMAT_NAME, request.param)
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(make_formatter())
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel("INFO")
    yield stream
    root.removeHandler(handler)
    root.setLevel(level)


def test_a_line_has_the_ids_of_what_it_belongs_to(lines: io.StringIO) -> None:
    mark = RequestMark({"PATH_INFO": "/"})
    with bound_contextvars(claim_id="c1", project_id=7):
        logging.getLogger("aggregate.example").warning("Twice: %s.", 2, extra={"trace_id": "v:0", "body": "left out"})
    text = lines.getvalue()
    assert "left out" not in text
    if text.startswith("{"):
        event = json.loads(text)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", event.pop("timestamp"))
        assert isinstance(event.pop("process"), int)
        assert event == {
            "event": "Twice: 2.",
            "level": "warning",
            "logger": "aggregate.example",
            "request_id": mark.id,
            "claim_id": "c1",
            "project_id": 7,
            "trace_id": "v:0",
        }
    else:
        assert " WARNING aggregate.example Twice: 2. " in text
        assert {"claim_id=c1", "project_id=7", "trace_id=v:0", f"request_id={mark.id}"} <= set(text.split())


@pytest.mark.django_db
def test_a_fold_is_one_line_and_a_sweep_that_finds_nothing_logs_nothing(lines: io.StringIO) -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])
    for _ in range(3):
        sweep.apply()
    assert lines.getvalue() == ""
    for seq in range(2):
        post("shop-key", make_envelope("v", seq=seq))
    sweep.apply()
    (line,) = lines.getvalue().splitlines()
    assert "Folded: batches 1, traces 2." in line
    assert "aggregate.sweep" in line
    if line.startswith("{"):
        assert json.loads(line)["did"] == {"batches": 1, "traces": 2}


@pytest.mark.django_db
def test_a_trace_that_fails_is_named_with_its_claim(lines: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    create_project(slug="shop", key="shop-key", origins=["*"])
    post("shop-key", make_envelope("v"))

    def fail(*_: object) -> None:
        raise ValueError("broken")

    monkeypatch.setattr(batch, "add_here", fail)
    sweep.apply()
    text = lines.getvalue()
    view_id = str(make_envelope("v")["viewId"])
    assert f"{view_id}:0" in text
    assert "claim_id" in text
    assert "ValueError: broken" in text


@pytest.mark.django_db
def test_no_secret_key_or_body_is_logged(lines: io.StringIO) -> None:
    known = "the-public-key"
    project, _ = create_project(slug="shop", key=known, origins=["*"])
    _, token = create_token(project=project, name="a token")
    User.objects.create_user("ann", password="the-password")
    client = Client(raise_request_exception=False)
    body = json.dumps(make_envelope("v", release="the-release"))
    client.post("/ingest/v1/traces?key=the-public-key", body, content_type="text/plain")
    client.post("/ingest/v1/traces?key=the-other-key", body[:99], content_type="text/plain")
    client.post("/login/", {"username": "ann", "password": "the-wrong-password"})
    client.post("/login/?next=/the-page", {"username": "ann", "password": "the-password"})
    client.get("/api/v1/projects/shop/none?q=the-query", headers={"Authorization": f"Bearer {token}"})
    client.get("/api/v1/projects/shop/status", headers={"Authorization": "Bearer the-wrong-token"})
    client.get("/snippet/the-unknown-key.js")
    client.get("/shared/the-secret-of-a-link/")
    client.get("/the-path-of-a-stranger")
    try:
        with transaction.atomic():
            IngestKey.objects.create(project=project, public_key=known)  # the line itself is in the traceback
    except IntegrityError:
        logging.getLogger("ingest.example").exception("A row could not be written.")
    failed = RequestFactory().get("/the-path-of-an-error")
    logging.getLogger("django.request").error("Internal Server Error: %s", failed.path, extra={"request": failed})
    text = lines.getvalue()
    assert "A row could not be written." in text
    assert "Internal Server Error: (no such address)" in text
    assert re.findall(r".*the-[a-z].*", text) == []
    assert token not in text
    assert "samples" not in text


def test_what_looks_like_a_secret_is_hidden_wherever_it_stands() -> None:
    assert hide("GET /x?key=abc&token=def HTTP") == "GET /x?key=…&token=… HTTP"
    assert hide("Authorization: Bearer abcdefgh.ijk") == "Authorization: Bearer …"
    assert hide("redis://:hunter2@host:6379/0 is gone") == "redis://:…@host:6379/0 is gone"
    assert hide("Error\nDETAIL:  Failing row contains (1, body).\nmore of it") == "Error\nDETAIL: (left out)"
    assert hide("Folded: batches 1, traces 2.") == "Folded: batches 1, traces 2."


def test_warnings_and_errors_are_counted(lines: io.StringIO) -> None:
    def count(level: str) -> float:
        return REGISTRY.get_sample_value("fieldflame_log_lines_total", {"level": level}) or 0

    before = [count(level) for level in ("warning", "error")]
    logging.getLogger("example").warning("One.")
    logging.getLogger("example").error("Two.")
    # At least: each handler counts what it writes, and the tests' own has them too.
    assert all(count(level) > number for level, number in zip(("warning", "error"), before, strict=True))
    assert lines.getvalue().count("\n") == 2


@pytest.mark.django_db
def test_a_stranger_writes_no_line(lines: io.StringIO) -> None:
    """A refused request is counted by its class of status."""
    strict = Client(enforce_csrf_checks=True)
    assert strict.get("/nowhere/").status_code == 404
    assert strict.get("/api/v1/projects/shop/functions").status_code in (401, 404)
    assert strict.post("/login/", {"username": "a", "password": "b"}).status_code == 403
    assert strict.delete("/login/").status_code in (403, 405)
    assert strict.get("/login/", headers={"host": "evil.example"}).status_code in (200, 400)
    assert lines.getvalue() == ""


@pytest.mark.parametrize(("level", "chatty"), [("INFO", "WARNING"), ("DEBUG", "DEBUG"), ("ERROR", "ERROR")])
def test_lines_for_each_task_are_for_debugging(level: str, chatty: str) -> None:
    config = make_logging(level)
    assert config["root"]["level"] == level
    assert config["loggers"]["celery.app.trace"]["level"] == chatty


def test_every_line_of_the_web_servers_main_process_is_json_too() -> None:
    """granian reads its own configuration, without Django."""
    code = """
import json, logging
from granian.log import LogLevels, configure_logging
configure_logging(LogLevels.info, json.load(open("ops/telemetry/granian.json")))
logging.getLogger("_granian").info("Starting granian")
"""
    done = subprocess.run(
        [sys.executable, "-c", code], env={FORMAT_NAME: "json"}, cwd=ROOT, capture_output=True, text=True, check=True
    )
    event = json.loads(done.stderr)
    assert (event["event"], event["level"], event["logger"]) == ("Starting granian", "info", "_granian")
